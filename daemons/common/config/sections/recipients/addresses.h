// Classes of addresses other than [local]'s, and the tables that rewrite and route addresses: one
// struct per section of the configuration. Part of Config. Tables are named as written ("text:/etc/…").
#pragma once
#include "daemons/common/config/sections/recipients/rewriting.h"
#include <set>
#include <string>
#include <vector>

namespace config {

struct VirtualAlias {
    std::vector<std::string> domains;       // lower case
    std::vector<std::string> domain_tables; // further domains
    std::vector<std::string> tables;
};

struct VirtualMailbox {
    std::vector<std::string> domains;       // lower case
    std::vector<std::string> domain_tables; // further domains
    std::vector<std::string> users;         // tables; none: every name has a mailbox
    std::string deliver;                    // "maildir:…", "mbox:…" with {user}, {domain}, {value}; or a next hop
    std::string user;                       // whose the files are
};

// Single lists of tables: [relocated], [transport], [sender_relay].
struct Relocated {
    std::vector<std::string> tables;
};
struct Transport {
    std::vector<std::string> tables;
};
struct SenderRelay {
    std::vector<std::string> tables;
};

struct Addresses {
    Generic generic;
    Masquerade masquerade;
    VirtualAlias virtual_alias;
    VirtualMailbox virtual_mailbox;
    Canonical canonical;
    Relocated relocated;
    Transport transport;
    SenderRelay sender_relay;
};

// What alias files may say. More of [local].
struct AliasRules {
    std::vector<std::string> tables; // asked behind the alias files
    static constexpr const char* aliases = "aliases";
    static constexpr const char* forward = "forward";
    static constexpr const char* includes = "includes";
    std::vector<std::string> commands = {aliases, forward}, files = {aliases, forward}; // from where they are taken
    std::string default_user = "nobody";
    std::string catch_all; // a user or an address; "" none
    std::string deliver;   // a next hop for users' mailboxes; "" none
};

} // namespace config

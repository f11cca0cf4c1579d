// Which domains are local and how their mail is delivered: [local]. Values.
#pragma once
#include "daemons/common/config/schema/quantities.h"
#include "daemons/common/config/sections/recipients/addresses.h"
#include "daemons/common/config/sections/recipients/local_delivery.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace config {

enum class MailboxFormat { maildir, mbox };

struct Mailbox {
    MailboxFormat format = MailboxFormat::mbox;
    std::string path = "/var/mail/{user}"; // with {user}, {home}
    // The path for one user; both placeholders are replaced literally.
    std::string path_for(std::string_view user, std::string_view home) const;
    std::string to_string() const; // "mbox:/var/mail/{user}"
    bool operator==(const Mailbox&) const = default;
};

struct Local {
    std::vector<std::string> domains;       // lower case; if not set: hostname, its short form, localhost
    std::vector<std::string> domain_tables; // further domains
    std::vector<std::string> aliases = {"/etc/aliases"};
    Mailbox mailbox;
    bool check_recipients = true; // unknown users are refused at RCPT, if smtpd.check_recipients
    std::vector<std::string> known_recipients = {"users", "aliases"}; // what makes a recipient known at RCPT
    std::vector<std::string> recipients;                              // tables of recipients that are known besides
    std::vector<std::string> users;        // only these; empty: the system's users (never empty in single-user mode)
    std::string postmaster;                // gets mail for postmaster if there is no alias; never empty after parse()
    std::string recipient_delimiter = "+"; // "" none
    std::uint32_t minimum_uid = 1;         // mailboxes of lower uids are never written
    Duration lock_timeout = 30s;           // for an mbox that another process has locked
    std::uint32_t alias_depth = 50;
    std::uint32_t alias_recipients = 100'000; // maximum number that one address may expand to
    LocalDelivery delivery;
    AliasRules alias_rules;
};

} // namespace config

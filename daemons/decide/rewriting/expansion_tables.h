// What an expansion looks up, and the types of the answers. Values and functions; a source may answer "not yet" and is
// asked again when it has the answer.
#pragma once
#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace decide {

// One place that an alias, a .forward or an included file names.
struct AliasTarget {
    enum class Kind {
        address, // user, user@domain
        user,    // \user: that user's mailbox, whatever aliases and .forward say
        command, // "|command"
        file,    // /path/name
        include, // :include:/path/name
        wrong,   // the entry is none of these
    };
    Kind kind = Kind::address;
    // address: as Mailbox::parse_bare_allowed() takes it; file: "~/name" is in the home directory of the user that the
    // list is delivered as; wrong: what and why, in one printable line. Without backslash, bar and ":include:".
    std::string value;
    std::uint32_t line = 0; // include: its line in the list file; 0: not known
    bool operator==(const AliasTarget&) const = default;
};

struct AliasAnswer {
    enum class Status { none, found, unreadable, not_yet };
    Status status = Status::none;
    std::vector<AliasTarget> targets;
    std::string why;    // unreadable: which table, and what is wrong with it
    std::string run_as; // found: the user that its commands and files are delivered as; "" the configured one
    bool operator==(const AliasAnswer&) const = default;
};

enum class UserAnswer {
    known,
    no_mailbox, // known, but no mailbox is ever written for it: an alias must name a person to read the mail
    unknown,
    unreadable,
    not_yet,
};

struct TableAnswer {
    enum class Status { none, found, unreadable, not_yet };
    Status status = Status::none;
    std::string value; // found
    std::string why;   // unreadable: which table, and what is wrong with it
    bool operator==(const TableAnswer&) const = default;
};

// A question, as a value.
struct LookupRequest {
    enum class Kind : std::uint8_t {
        alias,      // name
        user,       // name
        forward,    // name: of the user; key: the address's extension, "" none
        include,    // name: the path; key: the user it is read as, "" this system (named by an alias file)
        table,      // name: as the configuration writes it; key
        suppressed, // name: an address, its domain in lower case
    };
    Kind kind = Kind::user;
    std::string name, key;
    auto operator<=>(const LookupRequest&) const = default;
};

// Names of users and aliases are in the form of ExpansionSettings::folded. A function that is not set counts as "none".
struct ExpansionTables {
    std::function<AliasAnswer(const std::string& name)> alias;
    std::function<UserAnswer(const std::string& name)> user;
    std::function<AliasAnswer(const std::string& user, const std::string& extension)> forward = {};
    std::function<AliasAnswer(const std::string& path, const std::string& user)> include = {};
    std::function<TableAnswer(const std::string& table, const std::string& key)> table = {};
    // found: `value` is the reason, for the sender and the log.
    std::function<TableAnswer(const std::string& address)> suppressed = {};
    // found: according to the message's own fields, it was delivered to or sent on from there before. Never not_yet.
    std::function<TableAnswer(const std::string& address)> delivered_before = {};
};

} // namespace decide

// Who the recipients of a message really are: remote, a user here, or what an alias says, down to the last.
// Pure: tables are asked through functions; where one does not know yet, the expansion names what it needs
// and is run again. Loops are cut, depth and size are bounded, nobody gets a message twice.
#pragma once
#include "libsmtp/text.h"
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace decide {

// What stands on the right of an alias.
struct AliasTarget {
    enum class Kind {
        address, // user, user@domain
        user,    // \user: that user, whatever the aliases say
        command, // "|command"
        file,    // /path/name
        include, // :include:/path/name
    };
    Kind kind = Kind::address;
    std::string value; // without backslash, bar and ":include:"
    bool operator==(const AliasTarget&) const = default;
};

struct AliasAnswer {
    enum class Said { none, found, unreadable };
    Said said = Said::none;
    std::vector<AliasTarget> targets;
    std::string why; // unreadable: which table and why
};

enum class UserAnswer { known, unknown, unreadable, not_yet };

struct ExpansionTables {
    std::function<AliasAnswer(const std::string& name)> alias; // as ExpansionSettings::folded makes names
    std::function<UserAnswer(const std::string& name)> user;   // the same
};

struct ExpansionSettings {
    std::function<bool(std::string_view domain)> is_local; // ASCII's letters small
    // The form in which names here are compared.
    std::function<std::string(std::string_view name)> folded = smtp::lowered;
    std::string origin;                                    // completes bare names
    std::string postmaster;                                // where it goes without an alias
    char delimiter = '+';                                  // 0: none
    std::uint32_t depth = 50;
    std::uint32_t recipients = 10'000; // one address may become so many
};

struct EnvelopeRecipient {
    std::uint32_t index = 0;
    std::string address; // local@domain, or a bare local part
};

struct FinalRecipient {
    enum class Fate { remote, local, discard, failed, deferred };
    std::uint32_t index = 0;
    Fate fate = Fate::remote;
    bool changed = false;     // false: the address is the envelope's own, and so is the reverse-path
    std::string address;      // only if changed
    std::string user;         // local
    std::string target;       // local: where it goes for that user; "" their mailbox, "|command", "/file", "/maildir/",
                              // "maildir:/path/", "mbox:/path"
    std::string transport;    // remote: next hop in the form of [route]; "" as the routes say
    std::string reverse_path; // "" the message's own
    std::string status, text; // failed, deferred, discard
    bool operator==(const FinalRecipient&) const = default;
};

struct Expanded {
    std::vector<FinalRecipient> recipients; // every envelope recipient is named at least once
    std::set<std::string> users_needed;     // not empty: find out about these and ask again
};

// `null_sender`: the message is a report; owners of lists are not put in.
Expanded expand(const std::vector<EnvelopeRecipient>& envelope, bool null_sender,
                const ExpansionSettings& settings, const ExpansionTables& tables);

// Would this address be accepted? Aliases are not followed.
struct RecipientCheck {
    enum class Verdict { known, unknown, not_ours, try_later, not_yet };
    Verdict verdict = Verdict::known;
    std::string user; // not_yet: whom to find out about
    std::string text; // unknown, try_later
};
RecipientCheck check_recipient(std::string_view address, const ExpansionSettings& settings,
                               const ExpansionTables& tables);

} // namespace decide

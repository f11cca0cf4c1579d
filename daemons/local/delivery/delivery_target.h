// Where one delivery goes: a recipient's target (spool::ResolvedRecipient), or, where it has none, what is
// configured for users' mailboxes. Pure.
#pragma once
#include "daemons/common/config/sections/recipients/local.h"
#include "daemons/local/mailbox/mailbox.h"
#include <optional>
#include <string>
#include <string_view>

namespace local {

struct DeliveryTarget {
    enum class Kind { mailbox, command, program, nowhere }; // nowhere: /dev/null
    Kind kind = Kind::mailbox;
    Format format = Format::maildir; // of a mailbox
    std::string path;                // of a mailbox: absolute, or as configured
    bool owned = true;               // a mailbox: must belong to who writes it; a file that a user or an alias names
                                     // need not: whether it may be written is up to its rights
    std::string command;             // for a shell; of a program: its name, [command.<name>]
    std::string done;                // "delivered to maildir", "delivered to file: /path": for the log
    bool operator==(const DeliveryTarget&) const = default;
};

// "" as configured; "|command"; "/path", "/path/" (a Maildir), "~/path" in the home; "maildir:/path", "mbox:/path" of
// a virtual mailbox; "command:NAME". Nothing: it is invalid.
std::optional<DeliveryTarget> parse_target(std::string_view target, const config::Local& settings,
                                           std::string_view user, std::string_view home);

} // namespace local

// The keys of [local] for delivery: what .forward files may contain, mailboxes and commands.
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/config/sections/key_tables.h"
#include "daemons/common/config/sections/recipients/local_delivery.h"
#include "daemons/decide/queue/settings.h"
#include "daemons/decide/routing/routing.h"

namespace config {

using namespace std::chrono_literals;

namespace {

ListKey forward_paths(std::vector<std::string>& values) {
    return list_of<std::string>(values, [](std::string_view text, std::string& value) -> Refusal {
        if (text.find('\0') != text.npos || !(text.starts_with('/') || text.starts_with("{home}/")))
            return fmt::format("\"{}\" is not a valid path: expected one that begins with \"/\" or \"{{home}}/\"",
                               text);
        value = text;
        return std::nullopt;
    });
}

} // namespace

std::vector<Key> delivery_keys(LocalDelivery& s) {
    return {
        {"forward", forward_paths(s.forward),
         "Files in which users can forward their mail; the first one that exists is used. {home}, {user} and "
         "{extension} (of user+extension) are replaced; a file with {extension} applies only to addresses that have "
         "one. [] for none.",
         ""},
        {"mailbox_command", any_text(s.mailbox_command),
         "Command that is run as the user, with the message on its standard input, instead of writing the mailbox; "
         "\"\" for none. Its environment contains recipient and sender: see postrider-local(8).",
         "'/usr/bin/procmail -a \"$EXTENSION\"'", true},
        {"command_timeout", DurationKey{&s.command_timeout, 1s, 24h},
         "Time limit for a command. A command that has not finished by then is killed, and the mail is retried.", ""},
        {"mailbox_size", SizeKey{&s.mailbox_size, 0, 1024 * GiB},
         "Maximum size of an mbox. Mail that would make it larger is returned (5.2.2). 0 means no limit.", ""},
    };
}

} // namespace config

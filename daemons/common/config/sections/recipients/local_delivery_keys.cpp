// The keys of [local] that are about delivering: what users' own files may say, mailboxes and commands.
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/config/sections/key_tables.h"
#include "daemons/common/config/sections/recipients/local_delivery.h"
#include "daemons/decide/queue/settings.h"
#include "daemons/decide/routing/routing.h"

namespace config {

using namespace std::chrono_literals;

namespace {

ListKey forward_paths(std::vector<std::string>& values) {
    return list_of<std::string>(values, [](std::string_view text, std::string& value) -> std::string {
        if (text.find('\0') != text.npos || !(text.starts_with('/') || text.starts_with("{home}/")))
            return fmt::format("\"{}\" begins neither with \"/\" nor with \"{{home}}/\"", text);
        value = text;
        return "";
    });
}

} // namespace

std::vector<Key> delivery_keys(LocalDelivery& s) {
    return {
        {"forward", forward_paths(s.forward),
         "Files in which users say where their mail goes; the first that exists speaks. {home}, {user} and "
         "{extension} (of user+extension; such a file holds for these addresses only) are put in. [] for none.",
         ""},
        {"mailbox_command", any_text(s.mailbox_command),
         "A command that is run as the user, with the message on its standard input, instead of writing the "
         "mailbox; \"\" for none. Recipient and sender are in its environment: postrider-local(8).",
         "'/usr/bin/procmail -a \"$EXTENSION\"'"},
        {"command_timeout", DurationKey{&s.command_timeout, 1s, 24h},
         "A command that has not ended after so long is killed, and the mail tried again.", ""},
        {"mailbox_size", SizeKey{&s.mailbox_size, 0, 1024 * GiB},
         "Mail that would make an mbox larger than this is refused (5.2.2); 0 for no limit.", ""},
    };
}

} // namespace config

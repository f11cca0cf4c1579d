// The keys of [local] that are about delivering: what users' own files may say, mailboxes and commands.
#include "daemons/common/config/kinds.h"

namespace config {

namespace {

List forward_paths(std::vector<std::string>& values) {
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
    };
}

} // namespace config

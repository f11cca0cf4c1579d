#include "daemons/common/config/sections/recipients/local.h"

namespace config {

std::string Mailbox::path_for(std::string_view user, std::string_view home) const {
    std::string out;
    std::string_view rest = path;
    while (!rest.empty()) {
        if (rest.starts_with("{user}") || rest.starts_with("{home}")) {
            out += rest[1] == 'u' ? user : home;
            rest.remove_prefix(6);
        } else {
            out.push_back(rest.front());
            rest.remove_prefix(1);
        }
    }
    return out;
}

std::string Mailbox::to_string() const { return (format == MailboxFormat::maildir ? "maildir:" : "mbox:") + path; }

} // namespace config

#include "daemons/import-postfix/restrictions/restriction_advice.h"

namespace postrider {

namespace {

struct Advice {
    std::string_view begin, text;
};
constexpr Advice advice[] = {
    {"reject_unlisted_sender", "senders are not looked up"},
    {"permit_mx_backup", "name the domains in relay.domains"},
    {"permit_naked_ip_address", "addresses instead of names are accepted"},
    {"sleep", "smtpd.greeting_delay makes strangers wait"},
};

} // namespace

std::string_view advice_on(std::string_view word) {
    for (const auto& [begin, text] : advice)
        if (word.starts_with(begin)) return text;
    return "use a policy service or a milter for this decision";
}

bool only_permits(std::string_view word) { return word.starts_with("permit_") || word == "sleep"; }

} // namespace postrider

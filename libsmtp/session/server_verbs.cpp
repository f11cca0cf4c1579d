#include "libsmtp/session/server_verbs.h"
#include "libsmtp/text/text.h"
#include <fmt/format.h>

namespace smtp {

static constexpr std::string_view verb_names[] = {
    "EHLO", "HELO", "STARTTLS", "AUTH",    "MAIL",     "RCPT", "DATA",    "BDAT",    "RSET",          "NOOP",
    "VRFY", "ETRN", "HELP",     "XCLIENT", "XFORWARD", "QUIT", "UNKNOWN", "CONNECT", "END-OF-MESSAGE"};

std::string_view name_of(Verb verb) { return verb_names[static_cast<std::size_t>(verb)]; }

std::string VerbCounts::text() const {
    std::string out;
    const auto add = [&out](std::string_view name, Count count) {
        if (count.total == 0) return;
        if (!out.empty()) out += ' ';
        if (count.accepted == count.total)
            out += fmt::format("{}={}", name, count.total);
        else
            out += fmt::format("{}={}/{}", name, count.accepted, count.total);
    };
    Count all;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
        add(lowered(verb_names[i]), counts_[i]);
        all.accepted += counts_[i].accepted;
        all.total += counts_[i].total;
    }
    if (all.total == 0) return "commands=0/0";
    add("commands", all);
    return out;
}

} // namespace smtp

#include "libsmtp/protocol/deliver_by.h"
#include "libsmtp/text/text.h"
#include <fmt/format.h>

namespace smtp {

bool parse_by_mode(std::string_view text, DeliverBy& out) {
    if (text.empty() || text.size() > 2) return false;
    const bool returned = text[0] == 'R' || text[0] == 'r', notified = text[0] == 'N' || text[0] == 'n';
    out.late = returned ? LateMail::give_back : LateMail::notify;
    out.trace = text.size() == 2;
    return (returned || notified) && (!out.trace || text[1] == 'T' || text[1] == 't');
}

std::optional<DeliverBy> parse_deliver_by(std::string_view text) {
    const auto semicolon = text.find(';');
    if (semicolon == text.npos) return {};
    DeliverBy out;
    if (!parse_by_mode(text.substr(semicolon + 1), out)) return {};
    auto digits = text.substr(0, semicolon);
    const bool negative = digits.starts_with('-');
    if (negative || digits.starts_with('+')) digits.remove_prefix(1);
    const auto seconds = digits.size() <= 9 ? parse_number(digits) : std::nullopt;
    if (!seconds) return {};
    out.seconds = static_cast<std::int32_t>(*seconds) * (negative ? -1 : 1);
    if (out.late == LateMail::give_back && out.seconds <= 0) return {};
    return out;
}

std::string text_of(const DeliverBy& by) {
    return fmt::format("{};{}{}", by.seconds, by.late == LateMail::give_back ? 'R' : 'N', by.trace ? "T" : "");
}

} // namespace smtp

#include "libsmtp/session/client/extensions.h"
#include "libsmtp/protocol/deliver_by.h"
#include "libsmtp/text/text.h"
#include <algorithm>

namespace smtp {
namespace {

// " RCPTMAX=100 MAILMAX=5" (RFC 9422, 3). What is not understood limits nothing; each number has 1 to 6 digits.
void read_limits(std::string_view words, ServerExtensions& out) {
    while (!words.empty()) {
        const auto word = words.substr(0, words.find(' '));
        words.remove_prefix(std::min(word.size() + 1, words.size()));
        const auto equals = std::min(word.find('='), word.size());
        const auto name = word.substr(0, equals);
        const auto most = parse_number(word.substr(std::min(equals + 1, word.size())), 999'999).value_or(0);
        const auto number = static_cast<std::uint32_t>(most);
        if (same_ignoring_case(name, "RCPTMAX")) out.recipients = number;
        if (same_ignoring_case(name, "RCPTDOMAINMAX")) out.domains = number;
        if (same_ignoring_case(name, "MAILMAX")) out.transactions = number;
    }
}

} // namespace

ServerExtensions read_extensions(std::string_view text) {
    ServerExtensions out;
    out.esmtp = true;
    for (bool first = true; !text.empty(); first = false) { // the first line is the server's name
        const auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        const auto keyword = line.substr(0, line.find(' '));
        if (first) continue;
        if (same_ignoring_case(keyword, "PIPELINING")) out.pipelining = true;
        if (same_ignoring_case(keyword, "8BITMIME")) out.eight_bit_mime = true;
        if (same_ignoring_case(keyword, "DSN")) out.dsn = true;
        if (same_ignoring_case(keyword, "STARTTLS")) out.starttls = true;
        if (same_ignoring_case(keyword, "REQUIRETLS")) out.require_tls = true;
        if (same_ignoring_case(keyword, "SMTPUTF8")) out.smtputf8 = true;
        // "AUTH=…" is what servers sent before RFC 2554; some send both.
        if (same_ignoring_case(keyword, "AUTH") || starts_with_ignoring_case(keyword, "AUTH="))
            out.auth.append(out.auth.empty() ? "" : " ").append(line.substr(std::min<std::size_t>(5, line.size())));
        if (same_ignoring_case(keyword, "CHUNKING")) out.chunking = true;
        if (same_ignoring_case(keyword, "DELIVERBY")) {
            auto least = line.substr(std::min(line.size(), keyword.size() + 1)); // "240", perhaps ",…" of later RFCs
            least = least.substr(0, least.find(','));
            out.deliver_by = true;
            out.shortest_deliver_by = static_cast<std::uint32_t>(
                parse_number(least, static_cast<std::uint64_t>(DeliverBy::longest)).value_or(0));
        }
        if (same_ignoring_case(keyword, "XFORWARD"))
            out.xforward = line.substr(std::min(line.size(), keyword.size() + 1));
        if (same_ignoring_case(keyword, "LIMITS")) read_limits(line.substr(keyword.size()), out);
        if (same_ignoring_case(keyword, "SIZE")) {
            out.size = true;
            out.size_limit = parse_number(line.substr(std::min(line.size(), keyword.size() + 1))).value_or(0);
        }
    }
    return out;
}

} // namespace smtp

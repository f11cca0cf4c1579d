// BY= of MAIL (RFC 2852): the time within which the client wants its message delivered, and what happens otherwise. A
// value and its text form; knows no clock.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace smtp {

// What happens to a message that is not delivered in time: its sender is notified, or it is returned.
enum class LateMail : std::uint8_t { notify, give_back, last_ = give_back };

struct DeliverBy {
    std::int32_t seconds = 0; // at most 9 digits; never 0 or less if it is returned
    LateMail late = LateMail::notify;
    bool trace = false; // each host that relays it on reports that
    bool operator==(const DeliverBy&) const = default;

    static constexpr std::int64_t longest = 999'999'999;
};

// "R", "RT", "N", "NT" in either case, into `out`.
bool parse_by_mode(std::string_view text, DeliverBy& out);
// "120;R", "-60;NT".
std::optional<DeliverBy> parse_deliver_by(std::string_view text);
std::string text_of(const DeliverBy& by);

} // namespace smtp

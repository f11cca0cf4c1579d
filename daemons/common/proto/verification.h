// smtpd ↔ queue-manager: is this address deliverable? Answered from the memory of verified addresses, or when the check
// that the question begins is over; smtpd does not wait longer than verify.wait. A question that is not answered when
// the connection ends is asked again. At most `most_open` questions of a connection wait for a check; further ones
// are answered "unknown" at once, and those that have waited a little longer than smtpd does, then.
#pragma once
#include "daemons/decide/verification/verified_addresses.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace proto::verification {

inline constexpr std::string_view conversation = "verification";
inline constexpr std::size_t most_open = 2000;

struct Verify { // smtpd → queue-manager
    std::uint64_t request = 0;
    std::string address;
    static void fields(auto& m, auto& f) {
        f("request", m.request);
        f("address", m.address);
    }
};

struct Verified { // queue-manager → smtpd
    std::uint64_t request = 0;
    decide::verification::Deliverability what = decide::verification::Deliverability::unknown;
    std::string text; // why
    static void fields(auto& m, auto& f) {
        f("request", m.request);
        f("what", m.what);
        f("text", m.text);
    }
};

using Message = std::variant<Verify, Verified>;

} // namespace proto::verification

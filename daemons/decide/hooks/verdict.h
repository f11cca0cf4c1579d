// What the answer of a hook's endpoint means for the events that were sent to it. Pure; knows status codes, not HTTP.
#pragma once
#include "libsmtp/text/time_types.h"
#include <cstdint>
#include <optional>
#include <string>

namespace decide::hooks {

struct EndpointAnswer {
    unsigned status = 0; // 0: there is no answer
    std::string text;    // why there is none, or how its body begins; printable
    std::optional<smtp::Duration> retry_after = {};
};

enum class Verdict : std::uint8_t {
    accepted,      // 2xx
    refused,       // definitely, because of what was sent: 4xx
    too_large,     // 413
    not_permitted, // 401, 403, 404: the endpoint is not what it should be
    gone,          // 410: nothing is to be sent any longer
    later,         // 429, 503, with the time to wait
    failed,        // no answer, or one that may be different next time
};

Verdict verdict_of(const EndpointAnswer& answer);

// "503: out of service", or why there is no answer.
std::string text_of(const EndpointAnswer& answer);

} // namespace decide::hooks

// How far a hook has come, and what it waits for: all that must survive a restart. A value.
#pragma once
#include <cstdint>
#include <string>

namespace decide::hooks {

enum class HookState : std::uint8_t {
    delivering,
    paused,       // by an operator, or because the endpoint is at fault
    switched_off, // by the endpoint, with 410
};

struct HookProgress {
    std::uint64_t next = 1;    // number of the first event that is not accounted for
    std::uint64_t through = 0; // last event of a request that is to be repeated as it was; 0: none
    HookState state = HookState::delivering;
    std::string reason;             // why it is paused or switched off
    unsigned failures = 0;          // without an answer that decides, in a row
    std::int64_t failing_since = 0; // seconds since 1970; 0: it is not
    unsigned refusals = 0;          // of event `next`
    std::uint64_t set_aside = 0;    // the event that was given up last, if none has been accepted since; 0: none
    bool operator==(const HookProgress&) const = default;
};

} // namespace decide::hooks

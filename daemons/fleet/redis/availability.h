// Whether the store is used, or left alone for a while: three failures in a row, and it is away for 5 s, then for twice
// as long after each further one, up to a minute. Time is passed in. Pure.
#pragma once
#include "libsmtp/text/time_types.h"
#include <cstdint>
#include <string>

namespace fleet::redis {

class Availability {
public:
    static constexpr unsigned most_failures = 3;
    static constexpr smtp::Duration between_failures = std::chrono::milliseconds(500);
    static constexpr smtp::Duration first_pause = std::chrono::seconds(5), longest_pause = std::chrono::minutes(1);

    enum class State : std::uint8_t { starting, present, away };
    enum class Change : std::uint8_t { none, came, came_back, went_away };

    // Of a connection or a call. Then it is not tried before next_attempt().
    Change failed(smtp::Now now, std::string why);
    Change worked(smtp::Now now);

    State state() const { return state_; }
    bool away() const { return state_ == State::away; }
    smtp::Monotonic next_attempt() const { return next_; }
    // Of the last change; when it went away.
    smtp::Now since() const { return since_; }
    const std::string& reason() const { return reason_; }           // of the last failure
    const std::string& away_reason() const { return away_reason_; } // of the one that it went away with

private:
    State state_ = State::starting;
    unsigned failures_ = 0; // in a row
    smtp::Duration pause_{};
    smtp::Monotonic next_{};
    smtp::Now since_{};
    std::string reason_, away_reason_;
};

} // namespace fleet::redis

// The deadline for a client's next command or piece of content, and the minimum data rate, measured over
// windows of time. Knows no clock: the time is passed in.
#pragma once
#include "libsmtp/session/server_settings.h"
#include "libsmtp/text/time_types.h"
#include <cstddef>
#include <cstdint>

namespace smtp {

class InputDeadline {
public:
    InputDeadline(const ServerSettings& settings, Monotonic now)
        : deadline_(now + settings.command_time), window_end_(deadline_) {}

    void await_command(const ServerSettings& settings, Monotonic now) { deadline_ = now + settings.command_time; }
    // The next piece of it, by data_time.
    void await_content(const ServerSettings& settings, Monotonic now) { deadline_ = now + settings.data_time; }
    // Content is measured from now on.
    void begin_window(const ServerSettings& settings, Monotonic now) {
        window_bytes_ = 0;
        window_end_ = now + settings.rate_window;
    }
    void received(std::size_t bytes) { window_bytes_ += bytes; }
    // The current deadline is no later than `latest`.
    void shorten(Monotonic latest) {
        if (latest < deadline_) deadline_ = latest;
    }

    // When late() must be called. `measured`: content is expected or being received.
    Monotonic due(const ServerSettings& settings, bool measured) const;
    // To be called when due: has the deadline passed, or was the client too slow? Begins the next window.
    bool late(const ServerSettings& settings, Monotonic now);

private:
    Monotonic deadline_, window_end_;
    std::uint64_t window_bytes_ = 0; // of the current window
};

} // namespace smtp

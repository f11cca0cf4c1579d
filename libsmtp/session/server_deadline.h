// By when a client must have sent its next command, or piece of a message's content, and whether content comes fast
// enough: it is measured over windows of time. Knows no clock: every function is told the time.
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
    // What is awaited comes no later than `latest`.
    void shorten(Monotonic latest) {
        if (latest < deadline_) deadline_ = latest;
    }

    // When late() must be asked. `measured`: content is expected, or comes.
    Monotonic due(const ServerSettings& settings, bool measured) const;
    // What is due: has the client's time run out, or was it too slow? Begins the next window.
    bool late(const ServerSettings& settings, Monotonic now);

private:
    Monotonic deadline_, window_end_;
    std::uint64_t window_bytes_ = 0; // of the current window
};

} // namespace smtp

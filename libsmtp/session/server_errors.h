// Counts a client's errors, commands that move no mail and temporary rejections, and decides on the penalty for each.
// The session applies it.
#pragma once
#include "libsmtp/session/server_settings.h"
#include <algorithm>
#include <cstdint>

namespace smtp {

enum class Penalty : std::uint8_t {
    none,
    delay, // the reply is delayed by error_delay
    close, // 421, too many errors
};

class ErrorCounter {
public:
    // A command was rejected permanently.
    Penalty error(const ServerSettings& settings) {
        ++errors_;
        if (errors_ >= settings.hard_errors) return Penalty::close;
        return errors_ >= settings.soft_errors ? Penalty::delay : Penalty::none;
    }
    // A command that moves no mail.
    Penalty junk(const ServerSettings& settings) {
        return ++junk_ > settings.junk_commands ? error(settings) : Penalty::none;
    }
    // A recipient over the limit. Not an error at first: the client sends the rest in a further transaction. A client
    // that sends as many again ignores the replies.
    Penalty excess_recipient(const ServerSettings& settings) {
        constexpr std::uint32_t at_least = 1000;
        return ++excess_recipients_ > std::max(settings.recipients, at_least) ? error(settings) : Penalty::none;
    }
    // MAIL, RCPT or DATA was rejected temporarily. Lists meet greylisting, and long ones a table that is unavailable
    // for the moment: ten of these count as one error, and only a client without any accepted recipient is
    // disconnected.
    Penalty deferral(const ServerSettings& settings, bool recipients_accepted) {
        constexpr std::uint32_t of_an_error = 10;
        ++deferrals_;
        const auto penalty = deferrals_ % of_an_error == 0 && !recipients_accepted ? error(settings) : Penalty::none;
        if (penalty == Penalty::none && deferrals_ >= of_an_error * settings.soft_errors) return Penalty::delay;
        return penalty;
    }
    // A command line with a bare CR or LF. True: the limit is reached.
    bool bare_line(const ServerSettings& settings) { return ++bare_lines_ >= settings.bare_lines; }

    void message_answered() { junk_ = excess_recipients_ = deferrals_ = 0; }
    // A proxy has described another client.
    void client_changed() { errors_ = bare_lines_ = junk_ = 0; }

private:
    std::uint32_t errors_ = 0, bare_lines_ = 0, junk_ = 0, excess_recipients_ = 0, deferrals_ = 0;
};

} // namespace smtp

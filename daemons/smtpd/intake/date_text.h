// The current time as header fields write it, formatted once a second. Knows no clock: the time is passed in.
#pragma once
#include "libsmtp/text/time_types.h"
#include <chrono>
#include <ctime>
#include <string>

namespace smtpd {

class DateText {
public:
    const std::string& at(smtp::WallTime now);
    // Offset from UTC when at() was last called.
    std::chrono::minutes zone() const { return zone_; }

private:
    std::time_t second_ = -1;
    std::chrono::minutes zone_{0};
    std::string text_;
};

} // namespace smtpd

#include "daemons/smtpd/intake/date_text.h"
#include "libsmtp/text/date.h"

namespace smtpd {

const std::string& DateText::at(smtp::WallTime now) {
    const auto second = std::chrono::system_clock::to_time_t(now);
    if (second == second_) return text_;
    second_ = second;
    std::tm local{};
    localtime_r(&second, &local);
    zone_ = std::chrono::minutes(local.tm_gmtoff / 60);
    text_ = smtp::rfc5322_date(now, zone_);
    return text_;
}

} // namespace smtpd

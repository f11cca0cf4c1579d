#include "libsmtp/date.h"
#include <fmt/format.h>

namespace smtp {
namespace {

struct Fields {
    int year;
    unsigned month, day, weekday;
    int hour, minute, second;
};

Fields split(WallTime time) {
    using namespace std::chrono;
    const auto day = floor<days>(time);
    const year_month_day date(day);
    const hh_mm_ss clock(floor<seconds>(time - day));
    return {int(date.year()),
            unsigned(date.month()),
            unsigned(date.day()),
            weekday(day).c_encoding(),
            int(clock.hours().count()),
            int(clock.minutes().count()),
            int(clock.seconds().count())};
}

} // namespace

std::string rfc5322_date(WallTime time, std::chrono::minutes zone) {
    static constexpr const char* weekdays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static constexpr const char* months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                             "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const Fields f = split(time + zone);
    const int offset = static_cast<int>(zone.count() < 0 ? -zone.count() : zone.count());
    return fmt::format("{}, {} {} {:04} {:02}:{:02}:{:02} {}{:02}{:02}", weekdays[f.weekday], f.day,
                       months[f.month - 1], f.year, f.hour, f.minute, f.second, zone.count() < 0 ? '-' : '+',
                       offset / 60, offset % 60);
}

std::string compact_date(WallTime time) {
    const Fields f = split(time);
    return fmt::format("{:04}{:02}{:02}{:02}{:02}{:02}", f.year, f.month, f.day, f.hour, f.minute, f.second);
}

} // namespace smtp

#include "libsmtp/text/date.h"
#include "libsmtp/text/text.h"
#include <algorithm>
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
    const Fields f = split(time + zone);
    const int offset = static_cast<int>(zone.count() < 0 ? -zone.count() : zone.count());
    return fmt::format("{}, {} {} {:04} {:02}:{:02}:{:02} {}{:02}{:02}", weekdays[f.weekday], f.day,
                       month_names[f.month - 1], f.year, f.hour, f.minute, f.second, zone.count() < 0 ? '-' : '+',
                       offset / 60, offset % 60);
}

std::string rfc3339_date(WallTime time) {
    const Fields f = split(time);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", f.year, f.month, f.day, f.hour, f.minute, f.second);
}

std::string iso_date(WallTime time) {
    const Fields f = split(time);
    return fmt::format("{:04}-{:02}-{:02}", f.year, f.month, f.day);
}

std::optional<WallTime> parse_rfc3339(std::string_view text) {
    using namespace std::chrono;
    constexpr std::string_view shape = "dddd-dd-ddTdd:dd:dd";
    if (text.size() <= shape.size()) return {};
    const auto zone = text.substr(shape.size());
    const bool utc = zone == "Z" || zone == "z";
    const std::string_view zone_shape = zone.front() == '-' ? "-dd:dd" : "+dd:dd";
    const auto fits = [](std::string_view given, std::string_view wanted) {
        return std::ranges::equal(given, wanted, [](char c, char w) { return w == 'd' ? is_digit(c) : c == w; });
    };
    if (!fits(text.substr(0, shape.size()), shape) || (!utc && !fits(zone, zone_shape))) return {};
    const auto number = [&](std::size_t at, std::size_t size = 2) {
        return static_cast<int>(*parse_number(text.substr(at, size)));
    };
    const year_month_day date{year(number(0, 4)), month(static_cast<unsigned>(number(5))),
                              day(static_cast<unsigned>(number(8)))};
    if (!date.ok() || number(11) > 23 || number(14) > 59 || number(17) > 60) return {};
    auto time = sys_days(date) + hours(number(11)) + minutes(number(14)) + seconds(number(17));
    if (!utc) {
        const auto offset = hours(number(20)) + minutes(number(23));
        time = zone.front() == '-' ? time + offset : time - offset;
    }
    return WallTime(time);
}

std::string compact_date(WallTime time) {
    const Fields f = split(time);
    return fmt::format("{:04}{:02}{:02}{:02}{:02}{:02}", f.year, f.month, f.day, f.hour, f.minute, f.second);
}

} // namespace smtp

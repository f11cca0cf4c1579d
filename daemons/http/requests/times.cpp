#include "daemons/http/requests/times.h"
#include "libsmtp/text/date.h"
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string_view>

namespace http {

namespace {

constexpr std::string_view names[] = {"arrival", "expiry",        "next_attempt", "since",     "until",
                                      "oldest",  "failing_since", "first",        "last",      "time",
                                      "added",   "expires",       "not_before",   "deliver_by"};
constexpr std::int64_t latest = 253402300799; // the year 9999

} // namespace

void show_times(nlohmann::json& value) {
    if (!value.is_structured()) return;
    for (auto each = value.begin(); each != value.end(); ++each) {
        if (value.is_object() && each->is_number_integer() && std::ranges::find(names, each.key()) != std::end(names)) {
            const auto seconds = each->get<std::int64_t>();
            if (seconds <= 0 || seconds > latest)
                *each = nullptr;
            else
                *each = smtp::rfc3339_date(smtp::WallTime(std::chrono::seconds(seconds)));
        } else {
            show_times(*each);
        }
    }
}

} // namespace http

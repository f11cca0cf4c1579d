// Charts of numbers over time, in ASCII, and times as text. Pure.
#pragma once
#include "libsmtp/text/time_types.h"
#include <span>
#include <string>
#include <string_view>

namespace postrider::simulate {

// "6:05", "27:00:30": hours, minutes and, unless they are 0, seconds since the beginning.
std::string clock_text(smtp::Duration since_the_beginning);

// "0.4 s", "95 s", "12 min", "3 h 5 min".
std::string wait_text(double seconds);

// "950", "12.4k", "3.1M".
std::string short_number(double number);

struct Chart {
    std::string_view title;
    std::string (*label)(double); // of the vertical axis
    int height = 8;               // lines
};

// One column for each value; a value above 0 fills at least the lowest line. Ends with a line for 0.
std::string draw_chart(const Chart& chart, std::span<const double> values);

// The times below a chart of `columns` columns.
std::string time_axis(std::size_t columns, smtp::Duration duration);

} // namespace postrider::simulate

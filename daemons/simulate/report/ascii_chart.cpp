#include "daemons/simulate/report/ascii_chart.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace postrider::simulate {

namespace {
constexpr int margin = 10;      // before the vertical axis
constexpr std::size_t tick = 9; // columns between two times, at least
} // namespace

std::string clock_text(smtp::Duration since) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since).count();
    const auto text = fmt::format("{}:{:02}", seconds / 3600, seconds / 60 % 60);
    return seconds % 60 == 0 ? text : fmt::format("{}:{:02}", text, seconds % 60);
}

std::string wait_text(double seconds) {
    if (seconds < 10) return fmt::format("{:.1f} s", seconds);
    if (seconds < 120) return fmt::format("{:.0f} s", seconds);
    const auto minutes = std::lround(seconds / 60);
    if (minutes < 120) return fmt::format("{} min", minutes);
    return fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

std::string short_number(double number) {
    if (number < 9999.5) return fmt::format("{:.0f}", number);
    if (number < 999'950) return fmt::format("{:.1f}k", number / 1000);
    return fmt::format("{:.1f}M", number / 1'000'000);
}

std::string draw_chart(const Chart& chart, std::span<const double> values) {
    const double most = values.empty() ? 0 : std::max(0.0, *std::ranges::max_element(values));
    std::string out = fmt::format("{:>{}} {}\n", "", margin, chart.title);
    const auto top = chart.label(most), zero = chart.label(0);
    const int middle = (chart.height + 1) / 2;
    auto half = chart.label(most * middle / chart.height);
    if (half == top || half == zero) half.clear();
    for (int line = chart.height; line > 0 && most > 0; --line) {
        const auto& label = line == chart.height ? top : line == middle ? half : std::string();
        std::string row = fmt::format("{:>{}} |", label, margin);
        for (const double value : values) {
            const double filled = value / most * chart.height;
            const bool seen = line == 1 ? value > 0 : filled > line - 0.5;
            row += seen ? '#' : ' ';
        }
        out += row.substr(0, row.find_last_not_of(' ') + 1) + "\n";
    }
    return out + fmt::format("{:>{}} +{:-<{}}\n", zero, margin, "", values.size());
}

std::string time_axis(std::size_t columns, smtp::Duration duration) {
    using namespace std::chrono_literals;
    constexpr smtp::Duration round_values[] = {1s, 5s, 10s, 30s, 1min, 2min, 5min, 10min, 15min, 30min, 1h,
                                               2h, 3h, 6h,  12h, 24h,  48h,  96h,  168h,  336h,  720h,  1440h};
    const auto column_of = [&](smtp::Duration at) {
        return static_cast<std::size_t>(static_cast<double>(columns) * static_cast<double>(at.count()) /
                                            static_cast<double>(duration.count()) +
                                        0.5);
    };
    const auto found = std::ranges::find_if(round_values, [&](auto each) { return column_of(each) >= tick; });
    const auto step = found == std::end(round_values) ? std::end(round_values)[-1] : *found;
    std::string out(margin + 2, ' ');
    for (smtp::Duration at{}; column_of(at) < columns; at += step) {
        out.resize(margin + 2 + column_of(at), ' ');
        out += clock_text(at);
    }
    return out + "\n";
}

} // namespace postrider::simulate

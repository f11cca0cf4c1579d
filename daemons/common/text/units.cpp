#include "daemons/common/text/units.h"
#include "libsmtp/text/date.h"
#include <charconv>
#include <chrono>

namespace config {

namespace {

struct Unit {
    std::string_view name;
    std::int64_t value;
};

// From large to small: printing uses the first that divides.
constexpr Unit durations[] = {{"w", 604'800'000'000}, {"d", 86'400'000'000}, {"h", 3'600'000'000},
                              {"m", 60'000'000},      {"s", 1'000'000},      {"ms", 1'000}};
constexpr Unit sizes[] = {{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}};
constexpr std::int64_t ten_years = 3653 * 86'400'000'000;

// Removes the number and the unit from the start of `text`.
template <std::size_t N>
std::optional<std::int64_t> take_part(std::string_view& text, const Unit (&units)[N], std::string_view if_none) {
    std::uint32_t number = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{}) return {};
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    auto word = text.substr(0, text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"));
    text.remove_prefix(word.size());
    if (word.empty()) word = if_none;
    for (const Unit& unit : units) {
        std::int64_t product = 0;
        if (unit.name != word) continue;
        if (__builtin_mul_overflow(std::int64_t{number}, std::int64_t{unit.value}, &product)) return {};
        return product;
    }
    return {};
}

template <std::size_t N> std::string print(std::int64_t value, const Unit (&units)[N], std::string_view of_zero) {
    for (const Unit& unit : units)
        if (value != 0 && value % unit.value == 0) return std::to_string(value / unit.value) + std::string(unit.name);
    return std::to_string(value) + std::string(of_zero);
}

} // namespace

std::optional<smtp::Duration> parse_duration(std::string_view text) {
    if (text.empty()) return {};
    std::int64_t total = 0;
    while (!text.empty()) {
        const auto part = take_part(text, durations, "");
        if (!part || *part > ten_years || (total += *part) > ten_years) return {};
    }
    return smtp::Duration(total);
}

std::optional<smtp::WallTime> parse_time(std::string_view text, smtp::WallTime start) {
    if (const auto span = parse_duration(text)) return std::chrono::ceil<std::chrono::seconds>(start + *span);
    return smtp::parse_rfc3339(text);
}

std::string print_duration(smtp::Duration duration) {
    // Weeks read badly in a configuration; "5d" and "14d" do not.
    const auto us = static_cast<std::int64_t>(duration.count());
    constexpr Unit shown[] = {durations[1], durations[2], durations[3], durations[4], durations[5]};
    return print(us, shown, us == 0 ? "s" : "us");
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
    const auto bytes = take_part(text, sizes, "B");
    if (!bytes || !text.empty()) return {};
    return static_cast<std::uint64_t>(*bytes);
}

std::string print_size(std::uint64_t bytes) {
    if (bytes % 1024 != 0) return std::to_string(bytes);
    return print(static_cast<std::int64_t>(bytes), sizes, "");
}

} // namespace config

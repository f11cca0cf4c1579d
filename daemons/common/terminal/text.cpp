#include "daemons/common/terminal/text.h"
#include <algorithm>
#include <ctime>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace postrider {

using nlohmann::json;

namespace {

// In characters, not bytes: what continues a character counts nothing.
std::size_t width_of(std::string_view text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string padded(const std::string& text, std::size_t width, bool right) {
    const std::string space(width - std::min(width, width_of(text)), ' ');
    return right ? space + text : text + space;
}

} // namespace

std::string duration_text(std::int64_t seconds) {
    if (seconds < 120) return fmt::format("{} s", seconds);
    if (seconds < 120 * 60) return fmt::format("{} min", seconds / 60);
    if (seconds < 48 * 3600) return fmt::format("{} h {} min", seconds / 3600, seconds / 60 % 60);
    return fmt::format("{} days {} h", seconds / 86400, seconds / 3600 % 24);
}

std::string age_text(std::int64_t seconds) {
    if (seconds < 0) return "-";
    if (seconds < 100) return fmt::format("{}s", seconds);
    if (seconds < 100 * 60) return fmt::format("{}m", seconds / 60);
    if (seconds < 48 * 3600) return fmt::format("{}h{:02}m", seconds / 3600, seconds / 60 % 60);
    return fmt::format("{}d{:02}h", seconds / 86400, seconds / 3600 % 24);
}

std::string size_text(std::uint64_t bytes) {
    constexpr std::string_view units = "KMGT";
    if (bytes < 1000) return std::to_string(bytes);
    auto size = static_cast<double>(bytes) / 1024;
    std::size_t unit = 0;
    for (; size >= 999.5 && unit + 1 < units.size(); ++unit) size /= 1024;
    return size < 9.95 ? fmt::format("{:.1f}{}", size, units[unit]) : fmt::format("{:.0f}{}", size, units[unit]);
}

std::string time_text(std::int64_t seconds) {
    if (seconds <= 0) return "-";
    const std::time_t time = seconds;
    std::tm parts{};
    localtime_r(&time, &parts);
    char text[64];
    return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts));
}

std::string count_text(std::int64_t count, std::string_view what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string truncated(std::string_view text, std::size_t width) {
    std::string out;
    std::size_t seen = 0;
    const bool cut = width > 0 && width_of(text) > width;
    for (const char c : text) {
        const bool begins = (static_cast<unsigned char>(c) & 0xc0) != 0x80;
        if (begins && cut && seen + 1 >= width) break;
        seen += begins;
        out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    }
    return cut ? out + "…" : out;
}

Table::Table(std::vector<std::string_view> headings) : headings_(std::move(headings)) {
    for (auto& heading : headings_) {
        right_.push_back(heading.starts_with('>'));
        if (right_.back()) heading.remove_prefix(1);
    }
}

void Table::row(std::vector<std::string> cells) {
    cells.resize(headings_.size());
    for (auto& cell : cells) cell = truncated(cell, 1000);
    rows_.push_back(std::move(cells));
}

std::string Table::text(std::size_t width, std::string_view indent) const {
    std::vector<std::size_t> widths;
    for (std::size_t n = 0; n < headings_.size(); ++n) {
        widths.push_back(headings_[n].size());
        for (const auto& row : rows_) widths[n] = std::max(widths[n], width_of(row[n]));
    }
    std::string out;
    const auto line = [&](const auto& cells) {
        std::string text(indent);
        for (std::size_t n = 0; n < cells.size(); ++n)
            text += padded(std::string(cells[n]), widths[n], right_[n]) + (n + 1 < cells.size() ? "  " : "");
        text.resize(text.find_last_not_of(' ') + 1);
        out += truncated(text, width) + "\n";
    };
    line(headings_);
    for (const auto& row : rows_) line(row);
    return out;
}

std::int64_t number_of(const json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_number() ? found->get<std::int64_t>() : 0;
}

std::string text_of(const json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

bool flag_of(const json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_boolean() && found->get<bool>();
}

std::string wait_reason(const json& line) {
    const auto error = text_of(line, "last_error");
    return flag_of(line, "paused") || error.empty() ? text_of(line, "idle_reason") : error;
}

const json& list_of(const json& object, const char* key) {
    static const json none = json::array();
    const auto found = object.find(key);
    return found != object.end() && found->is_array() ? *found : none;
}

} // namespace postrider

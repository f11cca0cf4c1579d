#include "daemons/common/config/schema/shown_value.h"
#include "daemons/common/config/schema/overloaded.h"
#include "daemons/common/text/units.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace config {

namespace {

// A basic string of TOML.
std::string in_quotes(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\')
            out += fmt::format("\\{}", c);
        else if (byte < 0x20 || byte == 0x7f)
            out += fmt::format("\\u{:04X}", byte);
        else
            out += c;
    }
    return out + '"';
}

std::string in_brackets(const std::vector<std::string>& values) { return fmt::format("[{}]", fmt::join(values, ", ")); }

// Next hops of equal preference are a list in the list.
std::string next_hops_text(const std::vector<std::vector<decide::NextHop>>& hops) {
    std::vector<std::string> all;
    for (const auto& equals : hops) {
        std::vector<std::string> texts;
        for (const auto& hop : equals) texts.push_back(in_quotes(hop.to_string()));
        all.push_back(texts.size() == 1 ? texts.front() : in_brackets(texts));
    }
    if (all.empty()) return "\"mx\"";
    return all.size() == 1 ? all.front() : in_brackets(all);
}

// With two digits, or as many as it needs.
std::string fraction_text(double value) {
    const auto text = fmt::format("{:.2f}", value);
    return std::stod(text) == value ? text : fmt::format("{}", value);
}

} // namespace

std::string shown_value(const Key& key) {
    return std::visit(
        Overloaded{
            [](const TextKey& text) { return in_quotes(text.show()); },
            [](const ListKey& list) {
                std::vector<std::string> texts;
                for (const auto& each : list.show()) texts.push_back(in_quotes(each));
                return in_brackets(texts);
            },
            [](const IntKey& count) { return std::to_string(*count.value); },
            [](const SizeKey& size) { return *size.value == 0 ? "0" : in_quotes(print_size(*size.value)); },
            [](const DurationKey& span) { return in_quotes(print_duration(*span.value)); },
            [](const BoolKey& flag) { return std::string(*flag.value ? "true" : "false"); },
            [](const FractionKey& fraction) { return fraction_text(*fraction.value); },
            [](const IntListKey& counts) { return fmt::format("[{}]", fmt::join(counts.values, ", ")); },
            [](const NextHopsKey& hops) { return next_hops_text(*hops.value); },
        },
        key.target);
}

} // namespace config

// Numbers in texts that other programs wrote: digits alone. Pure.
#pragma once
#include <charconv>
#include <optional>
#include <string_view>

namespace fleet {

template <class Number> std::optional<Number> number_of_digits(std::string_view text) {
    Number number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < 0) return {};
    return number;
}

} // namespace fleet

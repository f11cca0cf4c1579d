// Which members of an event have addresses in them. Values; shared by what hashes them and what erases them.
#pragma once
#include <algorithm>
#include <string_view>

namespace history {

// An address, or a list of addresses.
constexpr bool is_address_member(std::string_view name) {
    constexpr std::string_view names[] = {"sender", "recipient", "original_recipient", "recipients"};
    return std::ranges::find(names, name) != std::end(names);
}
// A text, or a list of them, that may mention some.
constexpr bool is_text_member(std::string_view name) {
    constexpr std::string_view names[] = {"text", "why", "dialogue"};
    return std::ranges::find(names, name) != std::end(names);
}

} // namespace history

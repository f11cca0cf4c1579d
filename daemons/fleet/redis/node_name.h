// Names of nodes in what others wrote: letters, digits, ".", "-", "_". Pure.
#pragma once
#include <algorithm>
#include <string_view>

namespace fleet {

inline bool is_node_name(std::string_view text) {
    constexpr std::size_t longest = 255;
    return !text.empty() && text.size() <= longest && std::ranges::all_of(text, [](unsigned char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '-' ||
               c == '_';
    });
}

} // namespace fleet

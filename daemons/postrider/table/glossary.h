// The words of Postrider, as `postrider help words` and postrider-glossary(7) define them. Pure.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace postrider {

struct Term {
    std::string_view name, meaning;
};

// In alphabetical order.
std::span<const Term> glossary();
// All terms for a terminal of `width` columns: each name on a line of its own, its meaning indented below it.
std::string glossary_text(std::size_t width);

} // namespace postrider

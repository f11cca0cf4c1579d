// "if /pattern/" and "endif" around lines of rules: which lines these are, and whether each has its counterpart. Knows
// neither patterns nor what the rules do. Pure.
#pragma once
#include "libsmtp/text/text.h"
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace common {

enum class BlockStep : std::uint8_t { rule, open, close }; // "if /pattern/", "endif"

// "if /x/", "IF!/x/", "endif": removes the word, and blanks around what follows it.
BlockStep take_block_step(std::string_view& line);
// The lines "if /pattern/" that have no "endif" yet; the error: there is one without its "if".
std::expected<std::vector<std::string>, smtp::Malformed> open_conditions(std::span<const std::string> lines);
// The error: one of them is without the other.
std::expected<void, smtp::Malformed> check_blocks(std::span<const std::string> lines);

} // namespace common

// Output of a command to its terminal: errors, JSON lines.
#pragma once
#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace postrider {

// One line on standard error, "postrider: …".
void print_error(std::string_view text);

// The same, and returns the command's exit status: return fail(usage, "…").
int fail(int status, std::string_view text);

// One line on standard output; what is not UTF-8 in it is replaced.
void print_json(const nlohmann::json& line);

// Columns of the terminal on standard output; 0: it is not a terminal, so nothing is cut.
std::size_t terminal_width();

} // namespace postrider

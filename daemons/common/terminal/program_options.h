// The commands of `postrider` that are separate programs: their options, which both sides take from
// here, and the command line between them. Knows neither the table of commands nor what the programs do.
#pragma once
#include "daemons/common/terminal/arguments.h"
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace postrider {

inline constexpr Option simulate_options[] = {
    {"--world", "FILE", "scenario file; see postrider.scenario(5)"},
    {"--from-log", "FILE", "simulate the traffic and failures of a mail log instead; -: standard input"},
    {"--print-scenario", "", "print the scenario derived from the log and exit"},
    {"--seed", "N", "seed for random events, instead of the scenario's"},
    {"--until", "DURATION", "simulated time, such as 36h, instead of the scenario's"}};
inline constexpr Option import_options[] = {{"-o", "FILE", "output file; an existing file is not overwritten"}};

// The command line from which parse_arguments() makes these arguments again, without the program's name.
std::vector<std::string> command_line(const Arguments& arguments, std::span<const Option> known);

// The arguments of the program that carries out `postrider COMMAND`, which has checked them. Nothing if they are not
// what it passes on, because the program was run directly; the error has been printed.
std::optional<Arguments> program_arguments(std::string_view command, const std::vector<std::string_view>& given,
                                           std::span<const Option> known, std::size_t words);

} // namespace postrider

// The table of the commands of `postrider`; help, completion and the check of a command line are made of it. Does not
// know what the commands do.
#pragma once
#include "daemons/common/terminal/arguments.h"
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace postrider {

struct Command {
    std::string_view name;                      // "status", "message hold"
    std::string_view parameters;                // "[ID|WORD...]"
    std::size_t min_parameters, max_parameters; // number of parameters
    std::span<const Option> options;
    std::string_view summary;
    int (*run)(const Arguments&); // its words are those after the command's name
};

// All of them, in the order of the help.
std::span<const Command> commands();
// argv[1] …: runs the command and returns its exit status.
int run_command_line(const std::vector<std::string_view>& given);

} // namespace postrider

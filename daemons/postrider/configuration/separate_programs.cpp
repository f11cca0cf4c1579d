#include "daemons/postrider/configuration/separate_programs.h"
#include "daemons/common/process/programs.h"
#include "daemons/common/terminal/exit_status.h"
#include "daemons/common/terminal/output.h"
#include "daemons/common/terminal/program_options.h"
#include <cerrno>
#include <unistd.h>

namespace postrider {

namespace {

// Becomes the program, which has this one's terminal and environment; only returns if that fails.
int run_program(std::string_view name, const Arguments& arguments, std::span<const Option> known) {
    const auto program = common::command_program_path(name);
    auto line = command_line(arguments, known);
    line.insert(line.begin(), program);
    std::vector<char*> words;
    for (auto& word : line) words.push_back(word.data());
    words.push_back(nullptr);
    execv(program.c_str(), words.data());
    const int error = errno;
    print_error(common::cannot_run(program, error));
    return error == ENOENT ? unavailable : system_error;
}

} // namespace

int run_simulation(const Arguments& arguments) { return run_program("simulate", arguments, simulate_options); }

int import_from_postfix(const Arguments& arguments) { return run_program("import-postfix", arguments, import_options); }

} // namespace postrider

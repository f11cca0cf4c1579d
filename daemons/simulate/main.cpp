// simulate: the program that `postrider simulate` runs.
#include "daemons/common/process/privileges.h"
#include "daemons/common/terminal/exit_status.h"
#include "daemons/common/terminal/program_options.h"
#include "daemons/simulate/simulate.h"
#include <algorithm>

int main(int argc, char** argv) {
    common::keep_standard_descriptors();
    const auto arguments = postrider::program_arguments("simulate", {argv + std::min(argc, 1), argv + argc},
                                                        postrider::simulate_options, 0);
    return arguments ? postrider::run_simulation(*arguments) : postrider::usage;
}

// import-postfix: the program that `postrider import-postfix` runs.
#include "daemons/common/process/privileges.h"
#include "daemons/common/terminal/exit_status.h"
#include "daemons/common/terminal/program_options.h"
#include "daemons/import-postfix/import_postfix.h"
#include <algorithm>

int main(int argc, char** argv) {
    common::keep_standard_descriptors();
    const auto arguments = postrider::program_arguments("import-postfix", {argv + std::min(argc, 1), argv + argc},
                                                        postrider::import_options, 1);
    return arguments ? postrider::import_from_postfix(*arguments) : postrider::usage;
}

// postrider: the command of the MTA's administrator. The commands are in table/command_table.cpp.
#include "daemons/common/process/privileges.h"
#include "daemons/postrider/table/command_table.h"
#include <algorithm>

int main(int argc, char** argv) {
    common::keep_standard_descriptors();
    return postrider::run_command_line({argv + std::min(argc, 1), argv + argc});
}

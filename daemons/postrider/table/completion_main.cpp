// Prints the completion of `postrider` for bash; run while building.
#include "daemons/postrider/table/completion.h"
#include <fmt/format.h>

int main() { fmt::print("{}", postrider::completion_script(postrider::commands())); }

// Prints the completion of `postrider` for the shell that is named: bash, zsh or fish; run while building.
#include "daemons/postrider/table/completion.h"
#include <fmt/format.h>

int main(int argc, char** argv) {
    const std::string_view shell = argc == 2 ? argv[1] : "";
    if (shell == "bash")
        fmt::print("{}", postrider::bash_completion(postrider::commands()));
    else if (shell == "zsh")
        fmt::print("{}", postrider::zsh_completion(postrider::commands()));
    else if (shell == "fish")
        fmt::print("{}", postrider::fish_completion(postrider::commands()));
    else
        return 2;
}

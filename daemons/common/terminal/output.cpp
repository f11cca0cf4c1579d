#include "daemons/common/terminal/output.h"
#include <cstdio>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/ioctl.h>
#include <unistd.h>

namespace postrider {

void print_error(std::string_view text) {
    std::fflush(stdout);
    fmt::print(stderr, "postrider: {}\n", text);
}

int fail(int status, std::string_view text) {
    print_error(text);
    return status;
}

void print_json(const nlohmann::json& line) {
    fmt::print("{}\n", line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::size_t terminal_width() {
    winsize size{};
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

} // namespace postrider

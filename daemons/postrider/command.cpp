#include "daemons/postrider/command.h"
#include "daemons/common/config_file.h"
#include <cerrno>
#include <fmt/format.h>

namespace postrider {

void complain(std::string_view text) {
    std::fflush(stdout);
    fmt::print(stderr, "postrider: {}\n", text);
}

std::optional<config::Config> load_config(const Arguments& arguments) {
    auto loaded = config::load(common::config_file(arguments.config));
    if (loaded) return *std::move(loaded);
    for (const auto& problem : loaded.error()) complain(problem.to_string());
    return {};
}

spool::Result<ipc::JsonClient> ask_at(const config::Config& config, std::string_view socket) {
    return ipc::JsonClient::connect(config.spool.directory + "/run/" + std::string(socket));
}

bool means_not_running(const spool::Error& error) { return error.code == ENOENT || error.code == ECONNREFUSED; }

int explain(const spool::Error& error) {
    if (means_not_running(error)) {
        complain("it is not running; \"postrider start\" starts it");
        return not_running;
    }
    complain(error.what);
    if (error.code != EACCES && error.code != EPERM) return unavailable;
    complain("this is for root, the user the MTA runs as and members of its administrators' group (mta.admin_group)");
    return no_permission;
}

std::string duration_text(std::int64_t seconds) {
    if (seconds < 120) return fmt::format("{} s", seconds);
    if (seconds < 120 * 60) return fmt::format("{} min", seconds / 60);
    if (seconds < 48 * 3600) return fmt::format("{} h {} min", seconds / 3600, seconds / 60 % 60);
    return fmt::format("{} days {} h", seconds / 86400, seconds / 3600 % 24);
}

} // namespace postrider

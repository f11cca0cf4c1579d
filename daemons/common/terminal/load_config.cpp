#include "daemons/common/terminal/load_config.h"
#include "daemons/common/commands/config_file.h"
#include "daemons/common/commands/effective_config.h"
#include "daemons/common/terminal/output.h"

namespace postrider {

namespace {

std::optional<config::Config> unless_refused(std::expected<config::Config, std::vector<config::Problem>> config) {
    if (config) return *std::move(config);
    for (const auto& problem : config.error()) complain(problem.to_string());
    return {};
}

} // namespace

std::optional<config::Config> load_config(const Arguments& arguments) {
    return unless_refused(config::load(common::config_file(arguments.config)));
}

std::optional<config::Config> parse_config(const Arguments& arguments) {
    return unless_refused(config::parse_file(common::config_file(arguments.config)));
}

std::optional<config::Config> config_in_force(const Arguments& arguments) {
    auto found = common::settings_in_force(arguments.config);
    if (!found) return unless_refused(std::unexpected(std::move(found.error())));
    if (!found->warning.empty()) complain("warning: " + found->warning);
    return std::move(found->config);
}

} // namespace postrider

#include "daemons/common/terminal/load_config.h"
#include "daemons/common/commands/config_file.h"
#include "daemons/common/config/config.h"
#include "daemons/common/config/load.h"
#include "daemons/common/terminal/output.h"

namespace postrider {

namespace {

template <class T> std::optional<T> or_print_problems(std::expected<T, std::vector<config::Problem>> config) {
    if (config) return *std::move(config);
    for (const auto& problem : config.error()) print_error(problem.to_string());
    return {};
}

} // namespace

std::optional<config::Config> load_config(const Arguments& arguments) {
    return or_print_problems(config::load(common::config_file(arguments.config)));
}

std::optional<config::Config> parse_config(const Arguments& arguments) {
    return or_print_problems(config::parse_file(common::config_file(arguments.config)));
}

std::optional<common::EffectiveConfig> load_effective_config(const Arguments& arguments) {
    auto found = common::effective_config(arguments.config);
    if (found && !found->warning.empty()) print_error("warning: " + found->warning);
    return or_print_problems(std::move(found));
}

} // namespace postrider

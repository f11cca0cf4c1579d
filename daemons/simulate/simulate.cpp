// simulate: a scenario played against a configuration, in virtual time.
#include "daemons/simulate/simulate.h"
#include "daemons/common/commands/config_file.h"
#include "daemons/common/config/config.h"
#include "daemons/common/terminal/arguments.h"
#include "daemons/common/terminal/exit_status.h"
#include "daemons/common/terminal/load_config.h"
#include "daemons/common/terminal/output.h"
#include "daemons/common/terminal/text.h"
#include "daemons/common/text/units.h"
#include "daemons/simulate/from_log/comparison.h"
#include "daemons/simulate/from_log/scenario_text.h"
#include "daemons/simulate/model/simulation.h"
#include "daemons/simulate/report/report.h"
#include "daemons/simulate/scenario/scenario.h"
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace postrider {

namespace {

// As wide as COLUMNS says, else the terminal, else 80.
std::size_t width() {
    std::size_t columns = 0;
    if (const char* said = std::getenv("COLUMNS")) std::from_chars(said, said + std::strlen(said), columns);
    if (columns == 0) columns = terminal_width();
    return columns == 0 ? simulate::min_width : columns;
}

// --seed and --until. False: one of them is none, and was complained of.
bool apply_options(const Arguments& arguments, simulate::ScenarioContext& context) {
    if (const auto text = arguments.option("--seed")) {
        const auto seed = arguments.number("--seed");
        if (!seed || *seed > 1'000'000'000) {
            print_error(fmt::format("--seed {}: expected a whole number up to 1000000000", *text));
            return false;
        }
        context.seed = static_cast<std::uint32_t>(*seed);
    }
    if (const auto text = arguments.option("--until")) {
        context.duration = config::parse_duration(*text);
        if (!context.duration || *context.duration < simulate::min_duration ||
            *context.duration > simulate::max_duration) {
            print_error(fmt::format("--until {}: expected a duration from {} to {}, such as \"36h\"", *text,
                                    config::print_duration(simulate::min_duration),
                                    config::print_duration(simulate::max_duration)));
            return false;
        }
    }
    return true;
}

void show_progress(double part) { fmt::print(stderr, "\r{:3.0f} % played", part * 100); }

void run_with_progress(simulate::Simulation& simulation) {
    const bool watched = ::isatty(STDERR_FILENO) == 1;
    simulation.run(watched ? show_progress : std::function<void(double)>());
    if (watched) fmt::print(stderr, "\r{:13}\r", "");
}

// Feeds the lines of a file to `log`. False: it cannot be read; the error has been printed.
bool read_log(const std::string& file, simulate::from_log::MailLog& log) {
    std::ifstream named;
    if (file != "-") named.open(file, std::ios::binary);
    std::istream& in = file == "-" ? std::cin : named;
    constexpr std::size_t longest_line = 64 * 1024;
    std::string line, piece(longest_line, '\0');
    while (in) {
        in.read(piece.data(), static_cast<std::streamsize>(piece.size()));
        std::string_view rest(piece.data(), static_cast<std::size_t>(in.gcount()));
        for (auto end = rest.find('\n'); end != rest.npos; end = rest.find('\n')) {
            if (line.size() < longest_line) line += rest.substr(0, end);
            log.take(line);
            line.clear();
            rest.remove_prefix(end + 1);
        }
        if (line.size() < longest_line) line += rest;
    }
    if (!line.empty()) log.take(line);
    log.end();
    if (in.eof() && (file == "-" || named.is_open())) return true;
    print_error(fmt::format("{}: {}", file, std::strerror(errno ? errno : EIO)));
    return false;
}

int simulate_log(const Arguments& arguments, const std::string& file, const config::Config& config,
                 const simulate::ScenarioContext& context) {
    namespace from_log = simulate::from_log;
    from_log::MailLog log(std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()));
    if (!read_log(file, log)) return data_error;
    const from_log::TrafficGroups groups(log);
    if (groups.groups().empty())
        return fail(data_error,
                    fmt::format("{}: none of its {} lines reports a delivery: expected a mail log written by "
                                "Postfix or Postrider",
                                file, log.counts().lines));
    const auto text = from_log::scenario_text(log, groups, file);
    if (arguments.has("--print-scenario")) {
        fmt::print("{}", text);
        return ok;
    }
    const auto scenario = simulate::parse(text, "scenario derived from " + file, context);
    if (!scenario) {
        for (const auto& problem : scenario.error()) print_error(problem.to_string());
        return data_error;
    }
    const auto lines = width();
    simulate::Simulation simulation(config, *scenario, simulate::chart_columns(lines));
    run_with_progress(simulation);
    if (arguments.json) {
        auto all = simulate::report_json(simulation.timeline());
        all["comparison"] = from_log::comparison_json(log, groups, simulation.timeline());
        print_json(all);
        return ok;
    }
    fmt::print("{}simulated with {}, seed {}\n\n{}\n{}", from_log::summary_of(log, groups, file), config.file,
               scenario->seed, simulate::report(simulation.timeline(), lines),
               from_log::comparison(log, groups, simulation.timeline(), lines));
    return ok;
}

} // namespace

int run_simulation(const Arguments& arguments) {
    const auto file = arguments.option("--world"), log = arguments.option("--from-log");
    if (file.has_value() == log.has_value())
        return fail(
            usage,
            "one of --world FILE (a scenario) and --from-log FILE (a mail log) is required; postrider.scenario(5) "
            "describes both");
    if (file && arguments.has("--print-scenario")) return fail(usage, "--print-scenario requires --from-log");
    simulate::ScenarioContext context;
    if (!apply_options(arguments, context)) return usage;
    const auto config = parse_config(arguments);
    if (!config) return bad_config;
    context.policies = config->queue.policies;
    context.pools = config->pools;
    if (log) return simulate_log(arguments, *log, *config, context);
    const auto scenario = simulate::load(*file, context);
    if (!scenario) {
        for (const auto& problem : scenario.error()) print_error(problem.to_string());
        return data_error;
    }
    const auto lines = width();
    simulate::Simulation simulation(*config, *scenario, simulate::chart_columns(lines));
    run_with_progress(simulation);
    for (const auto& name : simulation.unused_names())
        print_error(fmt::format("warning: no mail involved {}; check its name", name));
    if (arguments.json) {
        print_json(simulate::report_json(simulation.timeline()));
        return ok;
    }
    fmt::print("{} with {}, {} simulated, seed {}\n\n{}", *file, config->file,
               duration_text(std::chrono::duration_cast<std::chrono::seconds>(scenario->duration).count()),
               scenario->seed, simulate::report(simulation.timeline(), lines));
    return ok;
}

} // namespace postrider

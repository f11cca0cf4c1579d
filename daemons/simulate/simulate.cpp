// simulate: a scenario played against a configuration, in virtual time.
#include "daemons/common/text/units.h"
#include "daemons/common/commands/config_file.h"
#include "daemons/common/terminal/arguments.h"
#include "daemons/common/terminal/exit_status.h"
#include "daemons/common/terminal/load_config.h"
#include "daemons/common/terminal/output.h"
#include "daemons/simulate/from_log/comparison.h"
#include "daemons/simulate/from_log/scenario_text.h"
#include "daemons/simulate/report/report.h"
#include "daemons/simulate/scenario/scenario.h"
#include "daemons/simulate/model/simulation.h"
#include "daemons/common/terminal/text.h"
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
    return columns == 0 ? simulate::narrowest : columns;
}

// --seed and --until. False: one of them is none, and was complained of.
bool take_options(const Arguments& arguments, simulate::Around& around) {
    if (const auto text = arguments.option("--seed")) {
        const auto seed = arguments.number("--seed");
        if (!seed || *seed > 1'000'000'000)
            return complain(fmt::format("--seed {}: expected a whole number up to 1000000000", *text)), false;
        around.seed = static_cast<std::uint32_t>(*seed);
    }
    if (const auto text = arguments.option("--until")) {
        around.duration = config::parse_duration(*text);
        if (!around.duration || *around.duration < simulate::shortest || *around.duration > simulate::longest)
            return complain(fmt::format("--until {}: expected a duration from {} to {}, such as \"36h\"",
                                        *text, config::print_duration(simulate::shortest),
                                        config::print_duration(simulate::longest))),
                   false;
    }
    return true;
}

void show_progress(double part) { fmt::print(stderr, "\r{:3.0f} % played", part * 100); }

void play_all(simulate::World& world) {
    const bool watched = ::isatty(STDERR_FILENO) == 1;
    world.run(watched ? show_progress : std::function<void(double)>());
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
    return complain(fmt::format("{}: {}", file, std::strerror(errno ? errno : EIO))), false;
}

Exit play_log(const Arguments& arguments, const std::string& file, const config::Config& config, const simulate::Around& around) {
    namespace from_log = simulate::from_log;
    from_log::MailLog log(std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()));
    if (!read_log(file, log)) return data_error;
    const from_log::TrafficGroups groups(log);
    if (groups.groups().empty())
        return complain(fmt::format("{}: none of its {} lines reports a delivery: expected a mail log written by Postfix or Postrider",
                                    file, log.counts().lines)),
               data_error;
    const auto text = from_log::scenario_text(log, groups, file);
    if (arguments.has("--print-scenario")) {
        fmt::print("{}", text);
        return ok;
    }
    const auto scenario = simulate::parse(text, "scenario derived from " + file, around);
    if (!scenario) {
        for (const auto& problem : scenario.error()) complain(problem.to_string());
        return data_error;
    }
    const auto lines = width();
    simulate::World world(config, *scenario, simulate::columns_within(lines));
    play_all(world);
    if (arguments.json) {
        auto all = simulate::report_json(world.chronicle());
        all["comparison"] = from_log::comparison_json(log, groups, world.chronicle());
        print_json(all);
        return ok;
    }
    fmt::print("{}simulated with {}, seed {}\n\n{}\n{}", from_log::summary_of(log, groups, file), config.file, scenario->seed,
               simulate::report(world.chronicle(), lines), from_log::comparison(log, groups, world.chronicle(), lines));
    return ok;
}

} // namespace

int play(const Arguments& arguments) {
    const auto file = arguments.option("--world"), log = arguments.option("--from-log");
    if (file.has_value() == log.has_value())
        return complain("one of --world FILE (a scenario) and --from-log FILE (a mail log) is required; postrider.scenario(5) describes both"), usage;
    if (file && arguments.has("--print-scenario"))
        return complain("--print-scenario requires --from-log"), usage;
    simulate::Around around;
    if (!take_options(arguments, around)) return usage;
    const auto config = parse_config(arguments);
    if (!config) return bad_config;
    around.policies = config->queue.policies;
    around.pools = config->pools;
    if (log) return play_log(arguments, *log, *config, around);
    const auto scenario = simulate::load(*file, around);
    if (!scenario) {
        for (const auto& problem : scenario.error()) complain(problem.to_string());
        return data_error;
    }
    const auto lines = width();
    simulate::World world(*config, *scenario, simulate::columns_within(lines));
    play_all(world);
    for (const auto& name : world.untouched())
        complain(fmt::format("warning: no mail had to do with {}; is its name right?", name));
    if (arguments.json) {
        print_json(simulate::report_json(world.chronicle()));
        return ok;
    }
    fmt::print("{} with {}, {} played, seed {}\n\n{}", *file, config->file,
               duration_text(std::chrono::duration_cast<std::chrono::seconds>(scenario->duration).count()),
               scenario->seed, simulate::report(world.chronicle(), lines));
    return ok;
}

} // namespace postrider

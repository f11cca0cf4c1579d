// simulate: a scenario played against a configuration, in virtual time.
#include "daemons/common/config/units.h"
#include "daemons/common/config_file.h"
#include "daemons/postrider/command.h"
#include "daemons/postrider/simulate/report.h"
#include "daemons/postrider/simulate/scenario.h"
#include "daemons/postrider/simulate/world.h"
#include "daemons/postrider/text.h"
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
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

} // namespace

int play(const Arguments& arguments) {
    const auto file = arguments.option("--world");
    if (!file)
        return complain("say which scenario: --world FILE; postrider.scenario(5) describes them"), usage;
    simulate::Around around;
    if (!take_options(arguments, around)) return usage;
    const auto config = parse_config(arguments);
    if (!config) return bad_config;
    around.policies = config->queue.policies;
    around.pools = config->pools;
    const auto scenario = simulate::load(*file, around);
    if (!scenario) {
        for (const auto& problem : scenario.error()) complain(problem.to_string());
        return data_error;
    }
    const auto lines = width();
    simulate::World world(*config, *scenario, simulate::columns_within(lines));
    const bool watched = ::isatty(STDERR_FILENO) == 1;
    world.run(watched ? show_progress : std::function<void(double)>());
    if (watched) fmt::print(stderr, "\r{:13}\r", "");
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

// simulate: a scenario played against a configuration, in virtual time.
#include "daemons/common/config_file.h"
#include "daemons/postrider/command.h"
#include "daemons/postrider/simulate/report.h"
#include "daemons/postrider/simulate/scenario.h"
#include "daemons/postrider/simulate/world.h"
#include "daemons/postrider/text.h"
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace postrider {

int play(const Arguments& arguments) {
    const auto file = arguments.option("--world");
    if (!file)
        return complain("say which scenario: --world FILE; postrider.scenario(5) describes them"), usage;
    const auto config = load_config(arguments);
    if (!config) return bad_config;
    const auto scenario = simulate::load(*file);
    if (!scenario) {
        for (const auto& problem : scenario.error()) complain(problem.to_string());
        return data_error;
    }
    simulate::World world(*config, *scenario);
    world.run();
    for (const auto& name : world.untouched())
        complain(fmt::format("warning: no mail had to do with {}; is its name right?", name));
    if (arguments.json) {
        print_json(simulate::report_json(world.chronicle()));
        return ok;
    }
    fmt::print("{} with {}, {} played\n\n{}", *file, config->file,
               duration_text(std::chrono::duration_cast<std::chrono::seconds>(scenario->duration).count()),
               simulate::report(world.chronicle()));
    return ok;
}

} // namespace postrider

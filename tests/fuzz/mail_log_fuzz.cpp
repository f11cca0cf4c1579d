// Any bytes as a mail log: the memory used is bounded, and the scenario derived from it is valid.
#include "daemons/simulate/from_log/comparison.h"
#include "daemons/simulate/from_log/scenario_text.h"
#include <cstdio>
#include <cstdlib>

using namespace postrider::simulate;
using namespace postrider::simulate::from_log;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::chrono::year_month_day today{std::chrono::year(2026), std::chrono::November, std::chrono::day(23)};
    MailLog log(today,
                {.recipients = 50, .hosts = 20, .attempts = 500, .samples = 10, .kinds = 5, .hosts_per_domain = 4});
    std::string_view text(reinterpret_cast<const char*>(data), size);
    while (!text.empty()) {
        const auto line = text.substr(0, text.find('\n'));
        log.take(line);
        text.remove_prefix(std::min(line.size() + 1, text.size()));
    }
    log.end();
    if (log.recipients().size() > 50 || log.hosts().size() > 20 || log.messages().size() > 51) std::abort();
    const TrafficGroups played(log);
    if (played.groups().empty()) return 0;
    const auto scenario = parse(scenario_text(log, played, "fuzz.log"), "fuzz");
    if (!scenario) {
        std::fprintf(stderr, "%s\n", scenario.error().front().to_string().c_str());
        std::abort();
    }
    const Timeline timeline(std::chrono::hours(1), std::chrono::hours(1), 10);
    if (comparison(log, played, timeline, 80).empty()) std::abort();
    return 0;
}

#include "daemons/common/config/config.h"
#include "daemons/common/config/load.h"
#include "daemons/simulate/model/simulation.h"
#include "daemons/simulate/report/ascii_chart.h"
#include "daemons/simulate/report/report.h"
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace std::chrono_literals;
namespace simulate = postrider::simulate;

namespace {

simulate::Timeline play(std::string_view more = "", std::uint32_t seed = 1, std::size_t width = 80) {
    const auto config = config::parse("[queue]\njitter = 0\n[route.\"*\"]\nnext_hop = \"[relay.example]:25\"\n",
                                      "c.toml", {"h.example", "user", 2});
    REQUIRE(config);
    const auto scenario = simulate::parse("[world]\nduration = \"12h\"\ninterval = \"1h\"\n"
                                          "[traffic.t]\ndomains = \"a.example\"\n" +
                                              std::string(more),
                                          "s.toml", {.seed = seed});
    REQUIRE_MESSAGE(scenario, (scenario ? "" : scenario.error().front().to_string()));
    simulate::Simulation simulation(*config, *scenario, simulate::chart_columns(width));
    simulation.run();
    return simulation.timeline();
}

constexpr std::string_view outage = "[fault.x]\nhosts = \"relay.example\"\nfrom = \"2h\"\nlasts = \"3h\"\n";

std::size_t longest_line(const std::string& text) {
    std::size_t most = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) most = std::max(most, line.size());
    return most;
}

} // namespace

TEST_CASE("the same scenario has the same course, another seed another one") {
    CHECK(simulate::report(play()) == simulate::report(play()));
    CHECK(simulate::report(play()) != simulate::report(play("", 2)));
    CHECK(simulate::report_json(play(outage)) == simulate::report_json(play(outage)));
}

TEST_CASE("the account fits the page and fills it") {
    for (const std::size_t width : {80, 132}) {
        const auto text = simulate::report(play(outage, 1, width), width);
        CHECK(longest_line(text) <= width);
        CHECK(longest_line(text) >= width - 1);
    }
}

TEST_CASE("the timetable begins with the first mail") {
    const auto text = simulate::report(play("from = \"9h\"\n"));
    CHECK(text.find("\n     9:00 ") == text.npos);
    CHECK(text.find("\n    10:00 ") != text.npos);
    const auto all = simulate::report(play());
    CHECK(all.find("\n     1:00 ") != all.npos);
}

TEST_CASE("what happens, in short") {
    const auto text = simulate::conclusion(play(outage));
    CHECK(text.starts_with("Summary: in 12 h 0 min, 7"));
    CHECK(text.find(" delivered, 0 returned, and the queue is empty.") != text.npos);
    CHECK(text.find("waited at the same time, for [relay.example], at 5:0") != text.npos);
    CHECK(text.find("after the fault had ended.") != text.npos);
    CHECK(text.find("the longest took 3 h") != text.npos);
    const auto still = simulate::conclusion(play("[fault.x]\nhosts = \"relay.example\"\nlasts = \"12h\"\n"));
    CHECK(still.find(" still wait.") != still.npos);
    CHECK(still.find("that backlog was not cleared") != still.npos);
}

TEST_CASE("facts for programs") {
    const auto facts = simulate::report_json(play(outage));
    CHECK(facts["version"] == 1);
    CHECK(facts["duration"] == 12 * 3600);
    const auto& link = facts["links"][0];
    CHECK(link["link"] == "[relay.example]");
    CHECK(link["intervals"].size() == 12);
    CHECK(link["intervals"][3]["state"] == "down");
    CHECK(link["delay_median"].get<double>() <= link["delay_95"].get<double>());
    CHECK(link["delay_99"].get<double>() <= link["delay_longest"].get<double>());
    std::vector<std::string> kinds;
    double at = 0;
    for (const auto& event : facts["events"]) {
        CHECK(event["at"].get<double>() >= at);
        at = event["at"];
        if (event["event"] != "retry" && event["event"] != "glitch" && event["event"] != "ready")
            kinds.push_back(event["event"]);
    }
    CHECK(kinds ==
          std::vector<std::string>{"trouble", "down", "reset", "trouble_ended", "peak", "up", "reset", "drained"});
}

TEST_CASE("many of a kind are counted instead of listed") {
    const auto text = simulate::report(
        play("[fault.x]\nhosts = \"relay.example\"\nhow = \"defers\"\nshare = 0.5\nlasts = \"12h\"\n"));
    CHECK(text.find("more of \"queue\"; --json shows all") != text.npos);
}

TEST_CASE("times and numbers") {
    CHECK(simulate::clock_text(0s) == "0:00");
    CHECK(simulate::clock_text(27h + 5s) == "27:00:05");
    CHECK(simulate::wait_text(0.25) == "0.2 s");
    CHECK(simulate::wait_text(95) == "95 s");
    CHECK(simulate::wait_text(3600) == "60 min");
    CHECK(simulate::wait_text(6 * 3600 + 120) == "6 h 2 min");
    CHECK(simulate::short_number(9999) == "9999");
    CHECK(simulate::short_number(12'345) == "12.3k");
    CHECK(simulate::short_number(3'100'000) == "3.1M");
}

TEST_CASE("a drawing") {
    const double values[] = {0, 1, 4, 8, 8, 0.1};
    CHECK(simulate::draw_chart({"mail", simulate::short_number, 4}, values) == R"(           mail
         8 |   ##
           |   ##
         4 |  ###
           | #####
         0 +------
)");
    const double none[] = {0, 0};
    CHECK(simulate::draw_chart({"mail", simulate::short_number, 4}, none) == "           mail\n         0 +--\n");
    CHECK(simulate::time_axis(24, 4h) == "            0:00        2:00\n");
    CHECK(simulate::time_axis(68, 18h) == // round hours, wherever they fall
          "            0:00       3:00        6:00       9:00       12:00       15:00\n");
}

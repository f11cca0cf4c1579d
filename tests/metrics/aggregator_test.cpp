// Sums over processes that come and go.
#include "daemons/common/logging/metrics/registry.h"
#include "daemons/metrics/aggregator.h"
#include <doctest/doctest.h>
#include <limits>

using common::MetricId;
using metrics::Aggregator;
using proto::metrics::Report;

static const smtp::Monotonic zero{};

static std::uint32_t cell(MetricId family) { return static_cast<std::uint32_t>(common::first_cell(family)); }

TEST_CASE("counts grow whoever hands them over; gauges are those of who is there") {
    Aggregator aggregator;
    const auto sessions = cell(MetricId::sessions), open = cell(MetricId::sessions_open);
    aggregator.add(1, {.cells = {{sessions, 5}, {open, 3}}}, zero);
    aggregator.add(2, {.cells = {{sessions, 7}, {open, 4}}}, zero);
    CHECK(aggregator.value(sessions) == 12);
    CHECK(aggregator.value(open) == 7);
    aggregator.add(1, {.cells = {{sessions, 1}, {open, 1}}}, zero);
    CHECK(aggregator.value(sessions) == 13);
    CHECK(aggregator.value(open) == 5);
    aggregator.remove_peer(1); // it died; its successor begins anew
    CHECK(aggregator.value(sessions) == 13);
    CHECK(aggregator.value(open) == 4);
    aggregator.add(3, {.cells = {{sessions, 2}}}, zero);
    CHECK(aggregator.value(sessions) == 15);
    aggregator.add(2, {}, zero); // a gauge that is not told is 0
    CHECK(aggregator.value(open) == 0);
}

TEST_CASE("what cannot be is left out") {
    Aggregator aggregator;
    const auto sessions = cell(MetricId::sessions);
    constexpr auto largest = std::numeric_limits<std::int64_t>::max();
    aggregator.add(
        1, {.cells = {{static_cast<std::uint32_t>(common::all_cells()), 5}, {0xFFFFFFFF, 5}, {sessions, -5}}}, zero);
    CHECK(aggregator.value(sessions) == 0);
    aggregator.add(1, {.cells = {{sessions, largest}, {sessions, largest}}}, zero);
    CHECK(aggregator.value(sessions) == largest);
}

TEST_CASE("links: bounded, their names printable, the others together") {
    Aggregator aggregator;
    aggregator.limit_links(2, zero);
    Report handed;
    handed.links = {{"a", 10, 1, 1, 3, 1},
                    {"b\n", 5, 0, 0, 0, 0},
                    {"c", 4, 0, 0, 7, 1},
                    {std::string(300, 'x'), 3, 0, 0, 0, 0},
                    {"", 2, 0, 1, 0, 4}};
    handed.attempts = {{std::string(300, 'x'), 9, 0, 0}, {"a", 1, 0, 0}};
    aggregator.add(1, handed, zero);
    const auto links = aggregator.links();
    REQUIRE(links.size() == 3);
    CHECK(links.at("a").deliveries == 10);
    CHECK(links.at("b?").deliveries == 5);
    CHECK(links.at("").deliveries == 9);
    CHECK(links.at("").failing == 5);
    CHECK(aggregator.attempts().others()[0] == 9);
    CHECK(aggregator.attempts().named().at("a")[0] == 1);
    aggregator.remove_peer(1);
    CHECK(aggregator.links().size() == 1); // the others, who are none
}

TEST_CASE("hooks: counts are added up, what is measured is the last report's") {
    Aggregator aggregator;
    proto::metrics::Report report;
    report.hooks = {{.hook = "shop", .pushed = 5, .failed = 1, .dead = 1, .behind = 9, .working = 1}};
    aggregator.add(1, report, {});
    report.hooks = {{.hook = "shop", .pushed = 2, .behind = 3}};
    aggregator.add(1, report, {});
    CHECK(aggregator.hooks().at("shop").pushed == 7);
    CHECK(aggregator.hooks().at("shop").behind == 3);
    CHECK(aggregator.hooks().at("shop").working == 0);
    aggregator.remove_peer(1);
    CHECK(aggregator.hooks().at("shop").pushed == 7);
    CHECK(aggregator.hooks().at("shop").behind == 0);
    for (int i = 0; i < 200; ++i) {
        report.hooks = {{.hook = std::to_string(i), .pushed = 1}};
        aggregator.add(2, report, {});
    }
    CHECK(aggregator.hooks().size() == Aggregator::max_hooks);
}

TEST_CASE("tables: lookups are added up by table, for a limited number of tables") {
    Aggregator aggregator;
    proto::metrics::Report report;
    report.tables = {{.table = "mysql:/x", .found = 2, .missing = 1, .failed = 1, .microseconds = 500}};
    aggregator.add(1, report, {});
    aggregator.add(2, report, {});
    CHECK(aggregator.tables().at("mysql:/x").found == 4);
    CHECK(aggregator.tables().at("mysql:/x").microseconds == 1000);
    for (int i = 0; i < 300; ++i) {
        report.tables = {{.table = std::to_string(i), .found = 1}};
        aggregator.add(1, report, {});
    }
    CHECK(aggregator.tables().size() == Aggregator::max_tables);
}

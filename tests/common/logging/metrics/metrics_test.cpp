// Counting, and handing over what was counted.
#include "daemons/common/logging/metrics/metrics.h"
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <set>
#include <thread>

using namespace common;

static std::int64_t value(const proto::metrics::Report& handed, std::size_t cell) {
    for (const auto& each : handed.cells)
        if (each.number == cell) return each.value;
    return 0;
}

TEST_CASE("the catalogue: names as Prometheus wants them, every cell somebody's") {
    std::set<std::string_view> names;
    std::size_t cells = 0;
    for (const auto& family : metric_registry()) {
        CAPTURE(family.name);
        CHECK(names.insert(family.name).second);
        CHECK(family.name.starts_with("postrider_"));
        CHECK(family.help.ends_with('.'));
        CHECK(family.name.ends_with("_total") == (family.type == MetricType::counter));
        if (family.unit == MetricUnit::microseconds) CHECK((family.name.find("_seconds") != family.name.npos));
        if (family.type == MetricType::histogram) CHECK(family.unit == MetricUnit::microseconds);
        CHECK(first_cell(family.family) == cells);
        cells += family.series() * family.cells_of_one();
    }
    CHECK(cells == all_cells());
}

TEST_CASE("what was handed over is not handed over again; gauges stay") {
    Metrics metrics;
    metrics.count(MetricId::deliveries, Transport::lmtp, DeliveryOutcome::bounced);
    metrics.set(MetricId::sessions_open, 3);
    const auto cell = cell_of(MetricId::deliveries, {1, 2});
    auto first = metrics.take();
    CHECK(value(first, cell) == 1);
    CHECK(value(first, first_cell(MetricId::sessions_open)) == 3);
    metrics.count(MetricId::deliveries, Transport::lmtp, DeliveryOutcome::bounced);
    metrics.count(MetricId::deliveries, Transport::lmtp, DeliveryOutcome::bounced);
    auto second = metrics.take();
    CHECK(value(second, cell) == 2);
    CHECK(value(second, first_cell(MetricId::sessions_open)) == 3);
    CHECK(metrics.take().cells.size() == 1); // the gauge
}

TEST_CASE("threads count side by side while somebody takes, and nothing is lost") {
    Metrics metrics;
    constexpr int threads = 4, times = 20'000;
    std::vector<std::thread> running;
    for (int i = 0; i < threads; ++i)
        running.emplace_back([&] {
            for (int n = 0; n < times; ++n) metrics.count(MetricId::sessions);
        });
    std::int64_t sum = 0;
    for (int i = 0; i < 100; ++i) sum += value(metrics.take(), first_cell(MetricId::sessions));
    for (auto& each : running) each.join();
    sum += value(metrics.take(), first_cell(MetricId::sessions));
    CHECK(sum == threads * times);
}

TEST_CASE("very many links are told together") {
    Metrics metrics;
    for (std::size_t i = 0; i < Metrics::max_named_links + 500; ++i)
        metrics.count_link(fmt::format("link{}", i), DeliveryOutcome::deferred);
    metrics.count_link("link1", DeliveryOutcome::delivered);
    const auto handed = metrics.take();
    CHECK(handed.attempts.size() == Metrics::max_named_links + 1);
    std::uint64_t together = 0;
    for (const auto& each : handed.attempts)
        if (each.link.empty()) together = each.deferred;
    CHECK(together == 500);
    CHECK(metrics.take().attempts.empty());
}

TEST_CASE("counts of hooks are handed over as what has been added") {
    Metrics metrics;
    metrics.set_hooks({{.hook = "shop", .pushed = 5, .failed = 1, .behind = 9}});
    auto report = metrics.take();
    REQUIRE(report.hooks.size() == 1);
    CHECK(report.hooks[0].pushed == 5);
    metrics.set_hooks({{.hook = "shop", .pushed = 7, .failed = 1, .dead = 2, .behind = 3, .working = 1}});
    report = metrics.take();
    CHECK(report.hooks[0].pushed == 2);
    CHECK(report.hooks[0].failed == 0);
    CHECK(report.hooks[0].dead == 2);
    CHECK(report.hooks[0].behind == 3);
    metrics.set_hooks({{.hook = "shop", .pushed = 1}}); // it has begun again
    CHECK(metrics.take().hooks[0].pushed == 1);
}

// The text; that Prometheus' own parsers take it is shown in tests/system/test_metrics.py.
#include "daemons/common/logging/metrics/metrics.h"
#include "daemons/common/proto/hello.h"
#include "daemons/metrics/prometheus_text.h"
#include <doctest/doctest.h>
#include <set>

using namespace std::chrono_literals;
using namespace common;
using metrics::Aggregator;
using metrics::prometheus_text;

static const smtp::Monotonic zero{};

static bool has(const std::string& text, std::string_view line) {
    return text.starts_with(std::string(line) + "\n") || text.find("\n" + std::string(line) + "\n") != text.npos;
}

TEST_CASE("counters, gauges, labels and times") {
    Metrics metrics;
    metrics.count(MetricId::sessions);
    metrics.count(MetricId::rejects, RejectStage::rcpt, RejectClass::permanent);
    metrics.add(MetricId::bytes_accepted, 12345, MailSource::report);
    metrics.set(MetricId::queue_oldest_age, 1'500'000);
    metrics.add(MetricId::cpu_seconds, 250'000, proto::Role::queue_manager);
    Aggregator aggregator;
    aggregator.add(1, metrics.take(), zero);
    const auto text = prometheus_text(aggregator, "1.2");
    for (const std::string_view line : {
             "# HELP postrider_smtpd_sessions_total SMTP sessions begun by clients.",
             "# TYPE postrider_smtpd_sessions_total counter",
             "postrider_smtpd_sessions_total 1",
             "postrider_smtpd_rejects_total{stage=\"rcpt\",kind=\"permanent\"} 1",
             "postrider_smtpd_rejects_total{stage=\"rcpt\",kind=\"temporary\"} 0",
             "postrider_accepted_bytes_total{source=\"report\"} 12345",
             "postrider_queue_oldest_age_seconds 1.5",
             "postrider_process_cpu_seconds_total{process=\"queue-manager\"} 0.25",
             "postrider_build_info{version=\"1.2\"} 1",
             "postrider_link_queued{link=\"(others)\"} 0",
         })
        CHECK_MESSAGE(has(text, line), line);
}

TEST_CASE("histograms are cumulative, and their sums exact") {
    Metrics metrics;
    for (const smtp::Duration time : {0us, 1000us, 1001us, 5000us, 2'000'000us, 200'000'000'000us})
        metrics.observe(MetricId::delay_seconds, time);
    Aggregator aggregator;
    aggregator.add(1, metrics.take(), zero);
    const auto text = prometheus_text(aggregator, "");
    for (const std::string_view line :
         {"postrider_delay_seconds_bucket{le=\"0.001\"} 2", "postrider_delay_seconds_bucket{le=\"0.005\"} 4",
          "postrider_delay_seconds_bucket{le=\"1\"} 4", "postrider_delay_seconds_bucket{le=\"5\"} 5",
          "postrider_delay_seconds_bucket{le=\"86400\"} 5", "postrider_delay_seconds_bucket{le=\"+Inf\"} 6",
          "postrider_delay_seconds_count 6", "postrider_delay_seconds_sum 200002.007001",
          "postrider_delay_stage_seconds_bucket{stage=\"in_queue\",le=\"+Inf\"} 0"})
        CHECK_MESSAGE(has(text, line), line);
}

TEST_CASE("hostile names of links stay inside their quotes") {
    CHECK(metrics::escaped_label("a\"b\\c\nd") == "a\\\"b\\\\c\\nd");
    Aggregator aggregator;
    aggregator.limit_links(5, zero);
    aggregator.add(1, {.attempts = {{"x\"} 1\npostrider_fake 7\n# \\", 1, 0, 0}}}, zero);
    const auto text = prometheus_text(aggregator, "");
    CHECK(has(text,
              "postrider_link_deliveries_total{link=\"x\\\"} 1?postrider_fake 7?# \\\\\",outcome=\"delivered\"} 1"));
    CHECK(!has(text, "postrider_fake 7"));
}

TEST_CASE("every series is there once, in its family") {
    const auto text = prometheus_text(Aggregator(), "");
    std::set<std::string> seen;
    std::size_t samples = 0, begin = 0;
    while (begin < text.size()) {
        const auto end = text.find('\n', begin);
        const auto line = text.substr(begin, end - begin);
        begin = end + 1;
        if (line.starts_with('#')) continue;
        ++samples;
        CHECK_MESSAGE(seen.insert(line.substr(0, line.rfind(' '))).second, line);
    }
    CHECK(samples > 200);
}

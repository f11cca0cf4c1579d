#include "daemons/metrics/prometheus_text.h"
#include "daemons/common/logging/metrics/registry.h"
#include <fmt/format.h>

namespace metrics {

using common::MetricDefinition;
using common::MetricType;
using common::MetricUnit;
using proto::metrics::LinkState;

namespace {

constexpr std::string_view type_names[] = {"counter", "gauge", "histogram"};

class Text {
public:
    void family(std::string_view name, MetricType type, std::string_view help) {
        out_ +=
            fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type_names[static_cast<std::size_t>(type)]);
    }
    // `labels`: without braces, "" none.
    void sample(std::string_view name, std::string_view suffix, std::string_view labels, std::string_view value) {
        out_.append(name).append(suffix);
        if (!labels.empty()) out_.append("{").append(labels).append("}");
        out_.append(" ").append(value).append("\n");
    }
    std::string take() { return std::move(out_); }

private:
    std::string out_;
};

std::string shown(std::int64_t value, MetricUnit unit) {
    if (unit == MetricUnit::number) return fmt::format("{}", value);
    auto text = fmt::format("{}.{:06}", value / 1'000'000, value % 1'000'000);
    text.resize(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
    return text;
}

std::string labels_of(const MetricDefinition& family, std::size_t series) {
    if (family.first.name.empty()) return "";
    const auto inner = family.second.name.empty() ? 1 : family.second.values.size();
    auto out = fmt::format("{}=\"{}\"", family.first.name, family.first.values[series / inner]);
    if (inner > 1) out += fmt::format(",{}=\"{}\"", family.second.name, family.second.values[series % inner]);
    return out;
}

void histogram(Text& text, const MetricDefinition& family, const Aggregator& aggregator, std::size_t first,
               const std::string& labels) {
    const auto bounds = common::histogram_bounds();
    const auto before = labels.empty() ? "" : labels + ",";
    std::int64_t count = 0;
    for (std::size_t i = 0; i <= bounds.size(); ++i) {
        count += aggregator.value(first + i);
        const auto bound = i < bounds.size() ? shown(bounds[i], MetricUnit::microseconds) : "+Inf";
        text.sample(family.name, "_bucket", fmt::format("{}le=\"{}\"", before, bound), fmt::format("{}", count));
    }
    text.sample(family.name, "_sum", labels, shown(aggregator.value(first + bounds.size() + 1), family.unit));
    text.sample(family.name, "_count", labels, fmt::format("{}", count));
}

void family(Text& text, const MetricDefinition& family, const Aggregator& aggregator) {
    text.family(family.name, family.type, family.help);
    for (std::size_t series = 0; series < family.series(); ++series) {
        const auto first = common::first_cell(family.family) + series * family.cells_of_one();
        const auto labels = labels_of(family, series);
        if (labels.ends_with("=\"\"")) continue; // nothing counts this one
        if (family.type == MetricType::histogram)
            histogram(text, family, aggregator, first, labels);
        else
            text.sample(family.name, "", labels, shown(aggregator.value(first), family.unit));
    }
}

std::string link_label(std::string_view link) {
    return fmt::format("link=\"{}\"", escaped_label(link.empty() ? other_links : link));
}

void links(Text& text, const Aggregator& aggregator) {
    constexpr std::string_view attempts = "postrider_link_deliveries_total";
    text.family(attempts, MetricType::counter, "Attempts to deliver to a recipient, by link, for the busiest links.");
    const auto add_link = [&](std::string_view link, const Attempts& n) {
        constexpr std::string_view outcomes[] = {"delivered", "deferred", "bounced"};
        for (std::size_t i = 0; i < n.size(); ++i)
            text.sample(attempts, "", fmt::format("{},outcome=\"{}\"", link_label(link), outcomes[i]),
                        fmt::format("{}", n[i]));
    };
    for (const auto& [link, n] : aggregator.attempts().named()) add_link(link, n);
    add_link("", aggregator.attempts().others());

    constexpr struct {
        std::string_view name, help;
        std::uint64_t LinkState::* value;
    } gauges[] = {
        {"postrider_link_queued", "Deliveries in the queue, by link, for the links with the most.",
         &LinkState::deliveries},
        {"postrider_link_active", "Deliveries in progress, by link.", &LinkState::active},
        {"postrider_link_connections", "Connections, by link.", &LinkState::connections},
        {"postrider_link_failures", "Consecutive failures, by link; 0 after a success.", &LinkState::failures},
        {"postrider_link_failing", "1 for a failing link; for (others), the number of failing links.",
         &LinkState::failing},
    };
    const auto states = aggregator.links();
    for (const auto& gauge : gauges) {
        text.family(gauge.name, MetricType::gauge, gauge.help);
        for (const auto& [link, state] : states)
            text.sample(gauge.name, "", link_label(link), fmt::format("{}", state.*gauge.value));
    }
}

void hooks(Text& text, const Aggregator& aggregator) {
    using proto::metrics::HookState;
    constexpr struct {
        std::string_view name;
        MetricType type;
        std::string_view help;
        std::uint64_t HookState::* value;
    } families[] = {
        {"postrider_hook_events_total", MetricType::counter, "Events that the endpoint of a hook has accepted.",
         &HookState::pushed},
        {"postrider_hook_failures_total", MetricType::counter, "Requests of a hook that were not accepted.",
         &HookState::failed},
        {"postrider_hook_dead_total", MetricType::counter, "Events that a hook has given up.", &HookState::dead},
        {"postrider_hook_lag_events", MetricType::gauge, "Events of the journal that a hook has yet to read or push.",
         &HookState::behind},
        {"postrider_hook_working", MetricType::gauge, "1 while the endpoint of a hook accepts events.",
         &HookState::working},
    };
    const auto states = aggregator.hooks();
    for (const auto& family : families) {
        text.family(family.name, family.type, family.help);
        for (const auto& [hook, state] : states)
            text.sample(family.name, "", fmt::format("hook=\"{}\"", escaped_label(hook)),
                        fmt::format("{}", state.*family.value));
    }
}

void tables(Text& text, const Aggregator& aggregator) {
    constexpr std::string_view lookups = "postrider_table_lookups_total",
                               seconds = "postrider_table_lookup_seconds_total";
    const auto label = [](std::string_view table) { return fmt::format("table=\"{}\"", escaped_label(table)); };
    text.family(lookups, MetricType::counter, "Lookups in tables of databases, by table and result.");
    for (const auto& [table, n] : aggregator.tables()) {
        const auto add = [&, name = label(table)](std::string_view result, std::uint64_t count) {
            text.sample(lookups, "", fmt::format("{},result=\"{}\"", name, result), fmt::format("{}", count));
        };
        add("found", n.found);
        add("missing", n.missing);
        add("failed", n.failed);
    }
    text.family(seconds, MetricType::counter, "Time that lookups in tables of databases took, by table.");
    for (const auto& [table, n] : aggregator.tables())
        text.sample(seconds, "", label(table),
                    shown(static_cast<std::int64_t>(n.microseconds), MetricUnit::microseconds));
}

} // namespace

std::string escaped_label(std::string_view value) {
    std::string out;
    for (const char c : value) {
        if (c == '\\' || c == '"') out.push_back('\\');
        if (c == '\n')
            out += "\\n";
        else
            out.push_back(c);
    }
    return out;
}

std::string prometheus_text(const Aggregator& aggregator, std::string_view version) {
    Text text;
    text.family("postrider_build_info", MetricType::gauge, "Always 1; the version is the label.");
    text.sample("postrider_build_info", "", fmt::format("version=\"{}\"", escaped_label(version)), "1");
    for (const auto& each : common::metric_registry()) family(text, each, aggregator);
    links(text, aggregator);
    hooks(text, aggregator);
    tables(text, aggregator);
    return text.take();
}

} // namespace metrics

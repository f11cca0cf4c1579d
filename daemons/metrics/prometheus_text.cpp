#include "daemons/metrics/prometheus_text.h"
#include "daemons/common/logging/metrics/registry.h"
#include <fmt/format.h>

namespace metrics {

using common::FigureFamily;
using common::FigureType;
using common::FigureUnit;
using proto::figures::LinkState;

namespace {

constexpr std::string_view type_names[] = {"counter", "gauge", "histogram"};

class Text {
public:
    void family(std::string_view name, FigureType type, std::string_view help) {
        out_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name,
                            type_names[static_cast<std::size_t>(type)]);
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

std::string shown(std::int64_t value, FigureUnit unit) {
    if (unit == FigureUnit::number) return fmt::format("{}", value);
    auto text = fmt::format("{}.{:06}", value / 1'000'000, value % 1'000'000);
    text.resize(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
    return text;
}

std::string labels_of(const FigureFamily& family, std::size_t series) {
    if (family.first.name.empty()) return "";
    const auto inner = family.second.name.empty() ? 1 : family.second.values.size();
    auto out = fmt::format("{}=\"{}\"", family.first.name, family.first.values[series / inner]);
    if (inner > 1) out += fmt::format(",{}=\"{}\"", family.second.name, family.second.values[series % inner]);
    return out;
}

void histogram(Text& text, const FigureFamily& family, const Ledger& ledger, std::size_t first,
               const std::string& labels) {
    const auto bounds = common::histogram_bounds();
    const auto before = labels.empty() ? "" : labels + ",";
    std::int64_t count = 0;
    for (std::size_t i = 0; i <= bounds.size(); ++i) {
        count += ledger.value(first + i);
        const auto bound = i < bounds.size() ? shown(bounds[i], FigureUnit::microseconds) : "+Inf";
        text.sample(family.name, "_bucket", fmt::format("{}le=\"{}\"", before, bound), fmt::format("{}", count));
    }
    text.sample(family.name, "_sum", labels, shown(ledger.value(first + bounds.size() + 1), family.unit));
    text.sample(family.name, "_count", labels, fmt::format("{}", count));
}

void family(Text& text, const FigureFamily& family, const Ledger& ledger) {
    text.family(family.name, family.type, family.help);
    for (std::size_t series = 0; series < family.series(); ++series) {
        const auto first = common::first_cell(family.family) + series * family.cells_of_one();
        const auto labels = labels_of(family, series);
        if (labels.ends_with("=\"\"")) continue; // nobody counts this one
        if (family.type == FigureType::histogram)
            histogram(text, family, ledger, first, labels);
        else
            text.sample(family.name, "", labels, shown(ledger.value(first), family.unit));
    }
}

std::string link_label(std::string_view link) {
    return fmt::format("link=\"{}\"", escaped_label(link.empty() ? other_links : link));
}

void links(Text& text, const Ledger& ledger) {
    constexpr std::string_view attempts = "postrider_link_deliveries_total";
    text.family(attempts, FigureType::counter, "Attempts to deliver to a recipient, by link, for the busiest links.");
    const auto say = [&](std::string_view link, const Attempts& n) {
        constexpr std::string_view outcomes[] = {"delivered", "deferred", "bounced"};
        for (std::size_t i = 0; i < n.size(); ++i)
            text.sample(attempts, "", fmt::format("{},outcome=\"{}\"", link_label(link), outcomes[i]),
                        fmt::format("{}", n[i]));
    };
    for (const auto& [link, n] : ledger.attempts().named()) say(link, n);
    say("", ledger.attempts().others());

    constexpr struct {
        std::string_view name, help;
        std::uint64_t LinkState::*value;
    } gauges[] = {
        {"postrider_link_queued", "Deliveries in the queue, by link, for the links with most of them.",
         &LinkState::deliveries},
        {"postrider_link_active", "Deliveries under way, by link.", &LinkState::active},
        {"postrider_link_connections", "Connections, by link.", &LinkState::connections},
        {"postrider_link_failures", "Failures in a row, by link; 0 when it is well.", &LinkState::failures},
        {"postrider_link_failing", "1 for a link that is not well; of the others, how many are not.",
         &LinkState::failing},
    };
    const auto states = ledger.links();
    for (const auto& gauge : gauges) {
        text.family(gauge.name, FigureType::gauge, gauge.help);
        for (const auto& [link, state] : states)
            text.sample(gauge.name, "", link_label(link), fmt::format("{}", state.*gauge.value));
    }
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

std::string exposition(const Ledger& ledger, std::string_view version) {
    Text text;
    text.family("postrider_build_info", FigureType::gauge, "Always 1; the version is its label.");
    text.sample("postrider_build_info", "", fmt::format("version=\"{}\"", escaped_label(version)), "1");
    for (const auto& each : common::catalogue()) family(text, each, ledger);
    links(text, ledger);
    return text.take();
}

} // namespace metrics

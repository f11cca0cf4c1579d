#include "daemons/fleet/fleet_json.h"
#include <nlohmann/json.hpp>

namespace fleet {

using nlohmann::json;
using redis::Availability;

namespace {

std::string_view state_of(const Availability& availability) {
    switch (availability.state()) {
    case Availability::State::starting: return "starting";
    case Availability::State::present: return "present";
    case Availability::State::away: return "away";
    }
    return "";
}

std::int64_t seconds_of(smtp::WallTime time) {
    return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
}

json line_of(const NodeList& list, const NodeList::Node& node, bool known, smtp::Monotonic now) {
    const auto& facts = node.facts;
    const auto* state = facts.stopped               ? "stopped"
                        : !known                    ? "unknown"
                        : list.is_silent(node, now) ? "silent"
                                                    : "present";
    return {{"node", node.name},
            {"state", state},
            {"seen", std::chrono::floor<std::chrono::seconds>(list.age_of(node, now)).count()},
            {"version", facts.version},
            {"messages", facts.messages},
            {"accepting", facts.accepting},
            {"delivering", facts.delivering},
            {"lag", facts.lag},
            {"waiting", facts.waiting},
            {"clock_ms", facts.clock / 1000}};
}

} // namespace

std::vector<json> lines_of(const StoreFacts& store, const NodeList& list, smtp::Monotonic now) {
    const auto& availability = store.availability;
    const bool present = availability.state() == Availability::State::present;
    std::vector<json> out;
    out.push_back(
        {{"store", store.address},
         {"version", store.version},
         {"state", state_of(availability)},
         {"since", availability.state() == Availability::State::starting ? 0 : seconds_of(availability.since().wall)},
         {"error", present ? "" : availability.reason()},
         {"effect", store.effect},
         {"node", store.node},
         {"expected_nodes", store.expected_nodes}});
    for (const auto& node : list.nodes()) out.push_back(line_of(list, node, present, now));
    return out;
}

} // namespace fleet

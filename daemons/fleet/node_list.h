// The nodes of the fleet, as the store's answer to a heartbeat lists them: who is present, who is silent, whether
// another node has this one's name. Time is passed in. Pure.
#pragma once
#include "daemons/fleet/node_facts.h"
#include "daemons/fleet/redis/reply.h"
#include "libsmtp/text/time_types.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fleet {

class NodeList {
public:
    static constexpr smtp::Duration silent_after = std::chrono::seconds(15);
    static constexpr std::size_t most_nodes = 1000;

    struct Node {
        std::string name;
        smtp::Duration age{}; // of its last heartbeat, at the time of the answer
        NodeFacts facts;
    };

    explicit NodeList(std::string own_name) : own_name_(std::move(own_name)) {}

    // The answer of the store to a heartbeat that was sent at `sent` and answered at `now`: its clock (seconds, µs),
    // the former entry of this node, then names and entries. False: it is none.
    bool take(const redis::Reply& reply, const std::string& own_instance, smtp::Now sent, smtp::Now now);

    const std::vector<Node>& nodes() const { return nodes_; } // by name
    // Of this node: its clock minus the store's.
    smtp::Duration clock_difference() const { return clock_; }
    // Another process has written the entry of this node's name since it did so itself.
    bool has_namesake() const { return namesake_; }
    smtp::Duration age_of(const Node& node, smtp::Monotonic now) const { return node.age + (now - answered_); }
    bool is_silent(const Node& node, smtp::Monotonic now) const;
    std::size_t count_present(smtp::Monotonic now) const;
    // Names, separated by commas; of many the first ones, and how many more.
    std::string silent_names(smtp::Monotonic now) const;

private:
    std::string own_name_;
    std::vector<Node> nodes_;
    smtp::Monotonic answered_{};
    smtp::Duration clock_{};
    bool written_ = false, namesake_ = false;
};

} // namespace fleet

// By how many nodes a shared rate is divided while the store is away, and how many may still divide it after the store
// came back: those that were there before, until they are heard again. Time is passed in. Pure.
#pragma once
#include "libsmtp/text/time_types.h"
#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace fleet {

class NodeCount {
public:
    // How long a node is expected back: it looks for the store at least once a minute.
    static constexpr smtp::Duration expected_for = std::chrono::seconds(90);
    static constexpr smtp::Duration silent_after = std::chrono::seconds(15); // in no list

    struct Seen { // in the store's list
        std::string name;
        smtp::Duration age{}; // of its last heartbeat
        bool stopped = false, silent = false;
    };
    void heard(const std::vector<Seen>& all, smtp::Monotonic now);
    // The store was away, and is back for this node.
    void store_back(const std::string& own_name, smtp::Monotonic now);

    // `otherwise`: if no node was ever heard. 0: not known.
    std::uint32_t nodes(std::uint32_t otherwise) const;
    std::uint32_t missing(smtp::Monotonic now) const;

private:
    // Of those that are there, when a list had them last: one that lacks them, since the store was emptied, does not
    // mean that they have gone.
    std::map<std::string, smtp::Monotonic> present_;
    std::set<std::string> missing_; // since the store is back
    smtp::Monotonic back_{};
};

} // namespace fleet

#include "daemons/fleet/rates/node_count.h"
#include <algorithm>

namespace fleet {

void NodeCount::heard(const std::vector<Seen>& all, smtp::Monotonic now) {
    present_.clear();
    if (now - back_ >= expected_for) missing_.clear();
    for (const Seen& node : all) {
        if (node.stopped || node.age < now - back_) missing_.erase(node.name);
        if (!node.stopped && !node.silent) present_.insert(node.name);
    }
    present_.insert(missing_.begin(), missing_.end());
}

void NodeCount::store_back(const std::string& own_name, smtp::Monotonic now) {
    missing_ = present_;
    missing_.erase(own_name);
    back_ = now;
}

std::uint32_t NodeCount::nodes(std::uint32_t otherwise) const {
    return present_.empty() ? std::max(otherwise, 1U) : static_cast<std::uint32_t>(present_.size());
}

std::uint32_t NodeCount::missing(smtp::Monotonic now) const {
    return now - back_ >= expected_for ? 0 : static_cast<std::uint32_t>(missing_.size());
}

} // namespace fleet

#include "daemons/fleet/rates/node_count.h"
#include <algorithm>

namespace fleet {

void NodeCount::heard(const std::vector<Seen>& all, smtp::Monotonic now) {
    if (now - back_ >= expected_for) missing_.clear();
    for (const Seen& node : all) {
        if (node.stopped || node.age < now - back_) missing_.erase(node.name);
        if (!node.stopped && !node.silent)
            present_[node.name] = now;
        else
            present_.erase(node.name);
    }
    for (const auto& name : missing_) present_[name] = now;
    std::erase_if(present_, [&](const auto& each) { return now - each.second > silent_after; });
}

void NodeCount::store_back(const std::string& own_name, smtp::Monotonic now) {
    missing_.clear();
    for (auto& [name, heard] : present_) {
        heard = now; // no list came meanwhile
        if (name != own_name) missing_.insert(name);
    }
    back_ = now;
}

std::uint32_t NodeCount::nodes(std::uint32_t otherwise) const {
    return present_.empty() ? otherwise : static_cast<std::uint32_t>(present_.size());
}

std::uint32_t NodeCount::missing(smtp::Monotonic now) const {
    return now - back_ >= expected_for ? 0 : static_cast<std::uint32_t>(missing_.size());
}

} // namespace fleet

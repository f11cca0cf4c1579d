#include "daemons/maps/lookup_queue.h"
#include <algorithm>

namespace maps {

std::optional<std::uint64_t> LookupQueue::add(std::string key, Time begin, Time deadline) {
    if (waiting_.size() >= most_waiting) return std::nullopt;
    const auto number = ++last_;
    lookups_[number] = {number, std::move(key), begin, deadline, false};
    waiting_.push_back(number);
    return number;
}

std::optional<LookupQueue::Lookup> LookupQueue::next() {
    if (!wants_worker()) return std::nullopt;
    const auto number = waiting_.front();
    waiting_.pop_front();
    ++busy_;
    auto& lookup = lookups_.at(number);
    lookup.under_way = true;
    return lookup;
}

std::optional<LookupQueue::Lookup> LookupQueue::finished(std::uint64_t number) {
    --busy_;
    overdue_.erase(number);
    const auto found = lookups_.find(number);
    if (found == lookups_.end()) return std::nullopt;
    auto lookup = std::move(found->second);
    lookups_.erase(found);
    return lookup;
}

std::vector<LookupQueue::Lookup> LookupQueue::expire(Time now) {
    std::vector<Lookup> out;
    std::erase_if(lookups_, [&](auto& each) {
        auto& lookup = each.second;
        if (lookup.deadline > now) return false;
        if (lookup.under_way)
            overdue_[lookup.number] = now;
        else
            std::erase(waiting_, lookup.number);
        out.push_back(std::move(lookup));
        return true;
    });
    return out;
}

void LookupQueue::forget(std::uint64_t number) {
    const auto found = lookups_.find(number);
    if (found == lookups_.end() || found->second.under_way) return;
    lookups_.erase(found);
    std::erase(waiting_, number);
}

std::optional<LookupQueue::Time> LookupQueue::next_deadline() const {
    std::optional<Time> out;
    for (const auto& [number, lookup] : lookups_)
        if (!out || lookup.deadline < *out) out = lookup.deadline;
    return out;
}

} // namespace maps

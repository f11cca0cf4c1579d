#include "daemons/queue-manager/events/recent_changes.h"
#include <algorithm>
#include <utility>

namespace queue_manager {

void RecentChanges::add(Change change) {
    forget(change.time);
    const auto same = std::ranges::find_if(changes_, [&](const Change& each) {
        return each.type == change.type && each.name == change.name && each.who == change.who;
    });
    if (same != changes_.end()) {
        change.count += same->count;
        changes_.erase(same);
    }
    changes_.push_back(std::move(change));
    if (changes_.size() <= most) return;
    ++left_out_;
    left_out_last_ = changes_.front().time;
    changes_.pop_front();
}

void RecentChanges::set_problems(const std::vector<std::string>& texts, smtp::WallTime now) {
    const std::set<std::string> present(texts.begin(), texts.end());
    for (const auto& each : present)
        if (!problems_.contains(each)) add({.time = now, .type = "problem.appeared", .name = each, .who = {}});
    for (const auto& each : problems_)
        if (!present.contains(each)) add({.time = now, .type = "problem.gone", .name = each, .who = {}});
    problems_ = present;
}

std::vector<RecentChanges::Change> RecentChanges::list(smtp::WallTime now) {
    forget(now);
    return {changes_.rbegin(), changes_.rend()};
}

// The wall clock may have been set back: then they stay longer.
void RecentChanges::forget(smtp::WallTime now) {
    while (!changes_.empty() && changes_.front().time + age < now) changes_.pop_front();
    if (left_out_last_ + age < now) left_out_ = 0;
}

} // namespace queue_manager

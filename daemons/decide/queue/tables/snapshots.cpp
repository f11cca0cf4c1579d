#include "daemons/decide/queue/tables/snapshots.h"
#include <algorithm>

namespace decide::queue {

void Snapshots::add(const HealthSnapshot& each) {
    auto& of = each.link ? links_ : each.route ? routes_ : queues_;
    of.insert_or_assign(each.name, each);
}

std::optional<HealthSnapshot> Snapshots::take(ByName& from, std::string_view name) {
    const auto known = from.find(name);
    if (known == from.end()) return {};
    return std::move(from.extract(known).mapped());
}

void Snapshots::restore(HealthState& h, const HealthSnapshot& from) {
    h.health = from.health;
    h.failing.set(h.health != Health::ready, step_.seconds(step_.now()));
    h.failures = from.failures;
    h.failing_since = from.failing_since;
    h.last_error = from.last_error;
    // A clock that was set back must not keep it for ever.
    h.due = step_.monotonic_of(std::min(std::max(from.due, step_.wall()), step_.wall() + terms_.longest_wait()));
}

void Snapshots::list(std::vector<HealthSnapshot>& out, smtp::Duration retry_interval) const {
    for (const auto* all : {&links_, &queues_, &routes_})
        for (const auto& [name, each] : *all)
            if (each.due + retry_interval > step_.wall()) out.push_back(each);
}

} // namespace decide::queue

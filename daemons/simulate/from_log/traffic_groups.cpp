#include "daemons/simulate/from_log/traffic_groups.h"
#include <algorithm>
#include <map>
#include <utility>

namespace postrider::simulate::from_log {

TrafficGroups::TrafficGroups(const MailLog& log) {
    std::map<std::pair<std::uint32_t, bool>, std::vector<std::uint32_t>> found;
    const auto& recipients = log.recipients();
    for (std::uint32_t n = 0; n < recipients.size(); ++n) {
        const auto& message = log.messages()[recipients[n].message];
        if (recipients[n].state == Recipient::State::requeued)
            ++requeued_;
        else if (message.is_report)
            ++reports_;
        else
            found[{recipients[n].domain, message.sender_known && message.sender.empty()}].push_back(n);
    }
    for (auto& [of, list] : found) {
        const auto& name = log.domains()[of.first].name;
        groups_.push_back({of.second ? name + " (null sender)" : name, {of.first}, of.second, std::move(list)});
    }
    std::ranges::stable_sort(groups_, std::greater(), [](const Group& each) { return each.recipients.size(); });
    if (groups_.size() > most_groups) {
        Group rest[2] = {{"other domains", {}, false, {}}, {"other domains (null sender)", {}, true, {}}};
        for (auto each = groups_.begin() + most_groups; each != groups_.end(); ++each) {
            auto& into = rest[each->null_sender ? 1 : 0];
            if (into.domains.size() < most_domains) into.domains.push_back(each->domains.front());
            into.recipients.insert(into.recipients.end(), each->recipients.begin(), each->recipients.end());
        }
        groups_.resize(most_groups);
        for (auto& each : rest)
            if (!each.recipients.empty()) groups_.push_back(std::move(each));
    }
    for (auto& group : groups_)
        std::ranges::stable_sort(group.recipients, {}, [&](std::uint32_t n) { return recipients[n].arrival; });
}

} // namespace postrider::simulate::from_log

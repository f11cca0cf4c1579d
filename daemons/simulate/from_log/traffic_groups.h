// Groups the recipients of a log into the [traffic] sections of a scenario: one per recipient domain, with the domains
// that have the least mail merged into one. Pure.
#pragma once
#include "daemons/simulate/from_log/mail_log.h"
#include <cstdint>
#include <string>
#include <vector>

namespace postrider::simulate::from_log {

class TrafficGroups {
public:
    static constexpr std::size_t most_groups = 1000, most_domains = 20'000; // most_domains: in the merged group

    // `log` must outlive it.
    explicit TrafficGroups(const MailLog& log);

    struct Group {
        std::string name;                   // of the [traffic] section
        std::vector<std::uint32_t> domains; // in log.domains()
        bool null_sender = false;
        std::vector<std::uint32_t> recipients; // in log.recipients(), in order of arrival
    };
    const std::vector<Group>& groups() const { return groups_; }
    // Left out: delivery reports of this system (the simulation generates its own), and recipients requeued under
    // another id.
    std::uint64_t reports() const { return reports_; }
    std::uint64_t requeued() const { return requeued_; }

private:
    std::vector<Group> groups_;
    std::uint64_t reports_ = 0, requeued_ = 0;
};

} // namespace postrider::simulate::from_log

// Which of a log's mail is played, and under which [traffic] of the scenario: one for each domain of recipients, and one
// for all domains that have the least. Pure.
#pragma once
#include "daemons/postrider/simulate/from_log/mail_log.h"
#include <cstdint>
#include <string>
#include <vector>

namespace postrider::simulate::from_log {

class Played {
public:
    static constexpr std::size_t most_groups = 1000, most_domains = 20'000; // domains: of the last group

    // `log` must outlive it.
    explicit Played(const MailLog& log);

    struct Group {
        std::string name;                   // of the [traffic]
        std::vector<std::uint32_t> domains; // in log.domains()
        bool null_sender = false;
        std::vector<std::uint32_t> recipients; // in log.recipients(), by their arrival
    };
    const std::vector<Group>& groups() const { return groups_; }
    // Left out: reports of this system's own, for the simulation makes its own; what was queued again under another id.
    std::uint64_t reports() const { return reports_; }
    std::uint64_t passed_on() const { return passed_on_; }

private:
    std::vector<Group> groups_;
    std::uint64_t reports_ = 0, passed_on_ = 0;
};

} // namespace postrider::simulate::from_log

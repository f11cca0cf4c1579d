// Finds the incidents in a host's attempts: periods in which it failed in one way, and the background rate of sporadic
// failures. A period begins halfway between the last success and the first failure and ends halfway between the last
// failure and the next success, because no attempt was made in between. Pure.
#pragma once
#include "daemons/simulate/from_log/mail_log.h"
#include <string>
#include <vector>

namespace postrider::simulate::from_log {

struct Incident {
    Fault fault; // without name, hosts and domains
    std::uint64_t failures = 0;
};

// `whole`: the period that the log covers.
std::vector<Incident> find_incidents(const HostRecord& record, smtp::Duration whole);

} // namespace postrider::simulate::from_log

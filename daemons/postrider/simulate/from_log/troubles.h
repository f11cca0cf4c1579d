// How a host's failures in a log are told as troubles: times in which it failed, from halfway between a success and the
// first failure until halfway between the last one and the next success, for nobody looked in between; and what failed now
// and then. Pure.
#pragma once
#include "daemons/postrider/simulate/from_log/mail_log.h"
#include <string>
#include <vector>

namespace postrider::simulate::from_log {

struct Told {
    Trouble trouble; // without its name
    std::uint64_t failures = 0;
};

// `whole`: of the log. The hosts or domains of the troubles are for the caller to fill in.
std::vector<Told> troubles_of(const Conduct& conduct, smtp::Duration whole);

} // namespace postrider::simulate::from_log

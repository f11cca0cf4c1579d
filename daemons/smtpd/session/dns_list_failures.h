// Which DNS lists do not answer: a line when one begins to fail, and when it answers again, that clients must not
// repeat.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/common/net/dns/answer.h"
#include <string>
#include <vector>

namespace smtpd {

class DnsListFailures {
public:
    explicit DnsListFailures(common::Log& log) : log_(log) {}
    void note(const std::string& zone, const dns::Answer& answer);

private:
    common::Log& log_;
    std::vector<std::string> failing_;
};

} // namespace smtpd

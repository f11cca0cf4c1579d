// Says which modes of the configuration change what becomes of failures: in the log when one begins or ends, and as a
// problem while it is on. Knows the notices' texts from the configuration; does nothing about mail.
#pragma once
#include "daemons/common/config/fwd.h"
#include "daemons/common/logging/log.h"
#include "daemons/queue-manager/spool/problem_list.h"
#include <string>
#include <string_view>

namespace queue_manager {

class ModeNotices {
public:
    ModeNotices(common::Log& log, ProblemList& problems) : log_(log), problems_(problems) {} // both outlive it

    void announce(const config::Config& config);

private:
    // `key`: in [bounce]. `notice`: "" while it is off.
    void announce(const std::string& key, std::string_view notice);

    common::Log& log_;
    ProblemList& problems_;
};

} // namespace queue_manager

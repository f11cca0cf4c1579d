#include "daemons/queue-manager/control/mode_notices.h"
#include "daemons/queue-manager/conversion/soft_bounce.h"

namespace queue_manager {

void ModeNotices::announce(const config::Config& config) {
    announce("soft_bounce", soft_bounce_notice(config));
    announce("withhold_reports", dry_bounce_notice(config));
}

void ModeNotices::announce(const std::string& key, std::string_view notice) {
    const bool was = problems_.contains(key);
    if (!notice.empty() && !was) log_.warning("{}", notice);
    if (notice.empty() && was) log_.info("bounce.{} is off again", key);
    problems_.report(key, std::string(notice));
}

} // namespace queue_manager

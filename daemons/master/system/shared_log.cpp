#include "daemons/master/system/shared_log.h"
#include "daemons/common/config/config.h"
#include "daemons/common/logging/log_destination.h"
#include "daemons/common/process/daemon.h"
#include "daemons/master/system/runtime_directory.h"
#include <fcntl.h>
#include <utility>

namespace master {

using spool::Result;

void SharedLog::use(const config::Config& config, common::Fd file) {
    log_.configure(common::log_settings(config.log),
                   file ? common::Fd(fcntl(file.number(), F_DUPFD_CLOEXEC, 3)) : common::Fd());
    file_ = std::move(file);
}

Result<> SharedLog::reopen(const config::Config& config) {
    auto file = RuntimeDirectory::open_log(config);
    if (!file) {
        log_.error("{}: continuing with the old one", file.error().what);
        return std::unexpected(file.error());
    }
    use(config, *std::move(file));
    return {};
}

bool SharedLog::follow_syslog(const config::Config& config) {
    if (!config.log.syslog || !config.log.file.empty()) return false;
    const bool answers = common::syslog_answers(config.log.syslog_socket);
    if (answers == !file_) return false;
    auto file = RuntimeDirectory::open_log(config);
    if (!file || (!answers && !*file)) return false; // no other destination either
    use(config, *std::move(file));
    if (answers)
        log_.info("a syslog daemon is listening at {} again: log lines go there", config.log.syslog_socket);
    else
        log_.warning("{}", common::log_warning(config));
    return true;
}

} // namespace master

// The file that the log lines of all processes go to; there is none where they go to syslog. Master opens it,
// and hands it down with the orders: after each change its owner has to send those again.
#pragma once
#include "daemons/common/config/fwd.h"
#include "daemons/common/logging/log.h"
#include "daemons/common/runtime/fd.h"
#include "libspool/disk/result.h"
#include <utility>

namespace master {

class SharedLog {
public:
    // `log`: master's own; must outlive it.
    explicit SharedLog(common::Log& log) : log_(log) {}

    // `file`: from RuntimeDirectory::open_log(), for log_ too.
    void use(const config::Config& config, common::Fd file);
    // For the first time, when `log` has it already.
    void adopt(common::Fd file) { file_ = std::move(file); }
    // After its rotation. On an error the old one stays.
    spool::Result<> reopen(const config::Config& config);
    // A syslog daemon may start or stop at any time. True: lines go elsewhere now, which it has logged. Those
    // that were sent to the daemon since the last check are lost.
    bool follow_syslog(const config::Config& config);

    bool has_file() const { return static_cast<bool>(file_); }
    int number() const { return file_.number(); }

private:
    common::Log& log_;
    common::Fd file_;
};

} // namespace master

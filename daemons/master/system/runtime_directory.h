// The MTA's place in the file system: its directories and their modes, the lock that keeps a second master out, the
// sockets. Created as the service user if master is root, so that no other user's links mislead root.
#pragma once
#include "daemons/common/config/fwd.h"
#include "daemons/common/config/sections/server/listener.h"
#include "daemons/common/config/sections/system/http.h"
#include "daemons/common/config/sections/system/metrics.h"
#include "daemons/common/config/sections/system/mta.h"
#include "daemons/common/logging/log.h"
#include "daemons/common/process/privileges.h"
#include "daemons/common/runtime/fd.h"
#include "libspool/disk/result.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace master {

// The users the daemons run as: the current one (single-user mode), or the service user and two groups.
struct Users {
    std::optional<common::Identity> service; // none: as we are
    std::optional<gid_t> drop_group, admin_group;
};
spool::Result<Users> look_up_users(const config::Mta& mta);

class RuntimeDirectory {
public:
    RuntimeDirectory(common::Log& log, Users users) : log_(log), users_(std::move(users)) {}
    ~RuntimeDirectory(); // releases it
    RuntimeDirectory(const RuntimeDirectory&) = delete;
    RuntimeDirectory& operator=(const RuntimeDirectory&) = delete;

    // Directories and lock. Error EALREADY: another master has it.
    spool::Result<> acquire(const config::Config& config);
    // In good order: the next one finds nothing odd. Does nothing if it was never acquired.
    void release();

    // incoming/ directories for all writers this configuration wants, and that of the journal.
    spool::Result<> make_slots(const config::Config& config);
    // Binds those that are not bound; of those that are wanted only if they are served, removes the others.
    spool::Result<> bind_local_sockets(const config::Config& config);
    // Sockets that systemd opened, by address: used instead of binding there. Kept permanently, so that a
    // configuration may drop an address and come back to it.
    void adopt(std::map<std::string, common::Fd> sockets) { activated_ = std::move(sockets); }
    // Binds new addresses, keeps existing ones, closes those no longer wanted. On an error everything stays as it
    // was.
    spool::Result<> bind_listeners(const std::vector<config::Listener>& wanted);
    // The same for metrics.listen and http.listen.
    spool::Result<> bind_metrics(const config::Metrics& wanted);
    spool::Result<> bind_http(const config::Http& wanted);
    int local_socket(std::string_view name) const;
    // Accepts no new clients there; those that have connected already can still be accepted.
    void withdraw(std::string_view name);
    struct Bound {
        std::string name, address; // of [listen.<name>]; "127.0.0.1:2525"
        int fd;
    };
    std::vector<Bound> listeners() const { return listed(listeners_); }
    std::vector<Bound> metrics_listeners() const { return listed(metrics_); }
    std::vector<Bound> http_listeners() const { return listed(http_); }

    // run/errors, empty: what dying daemons write to standard error when there is no terminal.
    spool::Result<common::Fd> open_errors();
    // The file that log lines go to (common/logging/log_destination.h), created 0640; empty where there is none. A
    // default file that cannot be opened is not an error.
    static spool::Result<common::Fd> open_log(const config::Config& config);
    // About the file system of the spool; "" if there is nothing to report.
    const std::string& warning() const { return warning_; }
    const Users& users() const { return users_; }
    std::string run() const { return run_; }

private:
    struct Listening {
        std::string name;
        common::Fd fd;
    };
    using ByAddress = std::map<std::string, Listening>;
    spool::Result<> bind(ByAddress& bound, const std::vector<config::Listener>& wanted);
    static std::vector<Bound> listed(const ByAddress& bound);
    spool::Result<> make_directories(const config::Config& config);
    spool::Result<> check_access(const config::Config& config) const;
    spool::Result<> give_drop_its_group();
    spool::Result<> give_to_operators(const std::string& path);
    spool::Result<> lock();

    common::Log& log_;
    Users users_;
    std::string spool_, run_, warning_;
    common::Fd lock_;
    bool unclean_shutdown_ = false; // by the previous master: what it started may still be busy for a moment
    spool::Result<common::Fd> open_listener(const common::Endpoint& endpoint);
    std::map<std::string, common::Fd> activated_;
    std::map<std::string, common::Fd, std::less<>> local_;
    ByAddress listeners_, metrics_, http_;
};

} // namespace master

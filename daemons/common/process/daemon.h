// The common frame of every daemon: started with descriptor 3 to master, configured over it, answers its
// heartbeats, stops on request or when master exits. A daemon is a class with create(), reconfigure() and stop();
// its main() is   int main() { return common::run_daemon<smtpd::Smtpd>(proto::Role::smtpd, "smtpd"); }
#pragma once
#include "daemons/common/config/fwd.h"
#include "daemons/common/config/sections/system/log.h"
#include "daemons/common/ipc/hello.h"
#include "daemons/common/ipc/operators.h"
#include "daemons/common/logging/log.h"
#include "daemons/common/logging/metrics/metrics.h"
#include "daemons/common/proto/hello.h"
#include "daemons/common/proto/secrets.h"
#include "daemons/common/runtime/fd.h"
#include "daemons/common/runtime/loop.h"
#include "libsmtp/auth/secret.h"
#include "libspool/disk/result.h"
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace common {

struct InheritedListener {
    std::string name;    // [listen.<name>], or "submit", "queue-manager", "control", "showq" … for local sockets
    std::string address; // for logs
    Fd fd;               // bound, listening, non-blocking
};

// What master configures a daemon with. The configuration lives until the following reconfigure() has returned.
struct DaemonConfig {
    const config::Config& config;
    std::uint64_t generation;
    std::vector<InheritedListener> listeners; // take your own; the rest is closed. On reload those that are
                                              // in use already come again (same name and address): drop either
    ipc::ExpectedTokens expected;             // for ipc::Listener
    Operators operators = {};                 // the users that may control this daemon
    std::shared_ptr<const proto::secrets::Message> secrets = nullptr; // null: this role has none
    std::string_view text = {};                                       // of the configuration; during the call only

    // Those of this role (proto::secrets::Server, …); empty ones if it got none.
    template <class S> const S& secrets_as() const {
        static const S none;
        const auto* own = secrets ? std::get_if<S>(secrets.get()) : nullptr;
        return own ? *own : none;
    }
    // The descriptor of the listener of that name; empty if there is none or it was taken.
    Fd take(std::string_view name);
};

LogSettings log_settings(const config::Log& log);

// The output of an account's command (auth::Account::command), as passed on by master.
struct Token {
    smtp::Secret text;
    std::uint64_t number = 0; // different for every token
    bool fresh = false;       // it was made for this request
    std::string problem;      // "": there is none
};
// The answer comes in a later turn of the loop, once. `refused`: the number of a token that was rejected; 0 none.
using RequestToken = std::function<void(std::string account, std::uint64_t refused, std::function<void(Token)> answer)>;

// The pipes of a command that master has started for a hook.
struct SinkPipes {
    Fd input, output;    // to its standard input, from its standard output
    std::string problem; // "": there is none
};
// The answer comes in a later turn of the loop, once. A command of that hook that still runs is killed.
using RequestSink = std::function<void(std::string hook, std::function<void(SinkPipes)> answer)>;

// The environment of a daemon. Outlives it.
struct DaemonContext {
    Loop& loop;
    Log& log;
    ipc::Identity identity;    // for ipc::Connector and Hello
    std::string run_directory; // "<spool>/run": run_directory + "/private/queue-manager" is a server's path
    std::function<void(std::string_view)> report_problem;        // a line for `postrider status`; "" clears it
    RequestToken request_token = {};                             // smtp-client's
    RequestSink request_sink = {};                               // that of events
    Metrics metrics = {};                                        // what is counted here
    std::uint32_t instance() const { return identity.instance; } // worker number; a writer's slot
};

class Daemon {
public:
    virtual ~Daemon() = default;
    // Sets its gauges, which are about to be reported.
    virtual void update_gauges(Metrics& metrics) { static_cast<void>(metrics); }
    // The configuration has changed, or the same one comes with new listeners.
    virtual void reconfigure(DaemonConfig daemon_config) = 0;
    // Take nothing new, finish what is in flight, then call done once; it may be called from within stop(). After
    // `within` the process ends anyway.
    virtual void stop(smtp::Duration within, std::function<void()> done) = 0;
    // The state of the work in a few words, which master passes on ("12 messages queued"); asked at every heartbeat.
    virtual std::string status_text() { return {}; }
    // Another daemon's process has ended (reported to the queue-manager and to metrics). crashed: by itself, not
    // stopped or killed.
    virtual void process_ended(const std::string& role, std::uint32_t instance, bool crashed) {
        static_cast<void>(role), static_cast<void>(instance), static_cast<void>(crashed);
    }
};

using CreateDaemon =
    std::function<spool::Result<std::unique_ptr<Daemon>>(DaemonContext& context, DaemonConfig daemon_config)>;

// Runs until stopped; returns the exit status. `service`: the name in the log tag ("smtpd", "qmgr", "smtp" …).
int run_daemon(proto::Role role, std::string_view service, const CreateDaemon& create, unsigned pool_threads = 4);

// D::create(DaemonContext&, DaemonConfig) → spool::Result<std::unique_ptr<D>>; D is a Daemon.
template <class D> int run_daemon(proto::Role role, std::string_view service, unsigned pool_threads = 4) {
    return run_daemon(
        role, service,
        [](DaemonContext& context, DaemonConfig daemon_config) -> spool::Result<std::unique_ptr<Daemon>> {
            return D::create(context, std::move(daemon_config));
        },
        pool_threads);
}

} // namespace common

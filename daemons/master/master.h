// The process that supervises the others: starts them in order, sends them their orders, checks their heartbeats,
// restarts what dies, reloads, stops in order. Touches no mail.
#pragma once
#include "daemons/common/config/config.h"
#include "daemons/common/ipc/json_lines.h"
#include "daemons/common/logging/log.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/master/children/child.h"
#include "daemons/master/children/child_group.h"
#include "daemons/master/children/oom_kills.h"
#include "daemons/master/children/orderly_stop.h"
#include "daemons/master/children/sink_commands.h"
#include "daemons/master/secrets/key_ring.h"
#include "daemons/master/secrets/server_keys.h"
#include "daemons/master/secrets/tokens.h"
#include "daemons/master/system/notify.h"
#include "daemons/master/system/runtime_directory.h"
#include "daemons/master/system/shared_log.h"
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace master {

struct Options {
    std::string file;  // the configuration's
    int announce = -1; // a descriptor that gets "ready\n"; then the terminal is released. -1: stay on the terminal
};

// Runs until stopped; the exit status (sysexits). Whatever prevents the start is reported on standard error.
int run(const Options& options);

class Master final : public Child::Supervisor {
public:
    Master(common::Loop& loop, common::Log& log, Options options, std::string text, config::Config config, Users users);
    ~Master();
    Master(const Master&) = delete;
    Master& operator=(const Master&) = delete;

    // `handed`: listening sockets that systemd opened, by address (by_address()).
    spool::Result<> open(common::Fd log_file, std::map<std::string, common::Fd> handed);
    int status() const { return status_; }

private:
    // What keeps an order (stop, reload) waiting for its end.
    using PeerIds = std::vector<std::uint64_t>;

    Program program_of(const Child& child) override;
    void send_orders(const Child& child, common::MasterLink& link) override;
    const config::Master& rules() override { return config_.master; }
    void ready(Child& child) override;
    void problem_changed(Child& child) override;
    void answered(Child& child) override;
    void token_wanted(Child& child, const proto::supervision::AccessTokenWanted& wanted) override;
    void sink_wanted(Child& child, const proto::supervision::SinkWanted& wanted) override;
    bool other_roles_answer(const Child& child) override { return children_.other_roles_answer(child); }
    bool out_of_memory() override { return oom_kills_.one_more(); }
    void ended(Child& child, bool crashed) override;

    void bind_metrics();
    void bind_http();
    void watch_signals();
    common::Operators operators() const;
    void reap();
    void heartbeat();
    void refresh_keys();
    void log_warnings(); // reports future problems; again every day
    void publish();      // the configuration values that commands need
    void everything_ready();
    void not_ready_yet();
    void fail_to_start(const std::string& why);

    spool::Result<> reload();
    spool::Result<> load_new_configuration();
    spool::Result<> reopen_log();
    void answer_reloaded();

    void stop(std::string_view why = "stopping"); // for the log
    void finished();

    void control(const ipc::JsonServer::Request& request, const nlohmann::json& body);
    nlohmann::json status_json() const;
    void report_status(); // to systemd, if it has changed

    common::Loop& loop_;
    common::Log& log_;
    Options options_;
    std::string text_; // of the configuration in force
    config::Config config_;
    RuntimeDirectory runtime_directory_;
    KeyRing keys_;
    Tokens account_tokens_;
    SinkCommands sinks_;
    OomKills oom_kills_;
    common::Fd text_file_, errors_;
    SharedLog log_file_;
    ServerKeys server_keys_;
    ChildGroup children_;
    OrderlyStop orderly_stop_;
    std::unique_ptr<ipc::JsonServer> control_;
    std::vector<common::Handle<uv_signal_t>> signals_;
    Notifier systemd_;
    common::Timer heartbeat_, patience_, watchdog_, daily_timer_;
    PeerIds reloading_, stopping_peers_;
    common::Timer reload_bound_;
    smtp::WallTime since_;
    std::uint64_t generation_ = 1;
    int not_ready_count_ = 0;
    std::vector<std::string> warnings_; // of today
    std::string status_text_;           // last sent to systemd
    bool announced_ = false, stopping_ = false;
    int status_ = 0;
};

} // namespace master

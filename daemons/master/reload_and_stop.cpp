// Reload, re-opening of logs, orderly stop, and the control socket they are asked for over.
#include "daemons/common/config/load.h"
#include "daemons/common/commands/config_warnings.h"
#include "daemons/common/process/confinement.h"
#include "daemons/common/process/daemon.h"
#include "daemons/common/logging/log_destination.h"
#include "daemons/common/process/process_plan.h"
#include "daemons/common/commands/effective_config.h"
#include "daemons/master/secrets/sealed_file.h"
#include "daemons/master/master.h"
#include <algorithm>
#include <fcntl.h>
#include <iterator>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace master {

using namespace std::chrono_literals;
using common::Loop;
using nlohmann::json;
using spool::Error;
using spool::Result;

namespace {

constexpr smtp::Duration reload_limit = 20s;
constexpr smtp::Duration grace = 1s; // after its bound, before a daemon is killed

// What cannot change under running processes.
std::string needs_restart(const config::Config& old, const config::Config& fresh) {
    if (old.spool.directory != fresh.spool.directory) return "spool.directory";
    if (old.mta.users != fresh.mta.users) return "mta.multi_user";
    if (old.mta.user != fresh.mta.user) return "mta.user";
    if (old.mta.drop_group != fresh.mta.drop_group) return "mta.drop_group";
    if (old.mta.admin_group != fresh.mta.admin_group) return "mta.admin_group";
    return {};
}

// A process is confined once, when it starts: what the new configuration would have it read elsewhere it
// could never open. "" if there is nothing of the kind.
std::string beyond_confinement(const config::Config& old, const config::Config& fresh) {
    for (const auto& process : common::process_plan(fresh)) {
        const auto paths =
            common::missing_rights(common::access_rights_of(process.role, process.instance, old),
                           common::access_rights_of(process.role, process.instance, fresh));
        if (!paths.empty())
            return fmt::format("the {} that runs cannot reach {}: what a process may reach is settled when it starts",
                               process.name, paths.front());
    }
    return {};
}

} // namespace

Result<> Master::reload() {
    if (stopping_) return std::unexpected(Error{0, "it is being stopped"});
    auto outcome = load_new_configuration();
    if (!outcome) {
        log_.error("reload refused, the former configuration stays in force: {}", outcome.error().what);
        return outcome;
    }
    systemd_.reloading();
    ++generation_;
    update_workers();
    for (auto& child : children_) child->resend_orders();
    report_status();
    log_.info("reload -- version {}, configuration {}: generation {}", POSTRIDER_VERSION, config_.file,
              generation_);
    return {};
}

// All or nothing: whatever fails, everything stays as it was.
Result<> Master::load_new_configuration() {
    auto text = config::read_text(options_.file);
    if (!text) return std::unexpected(Error{0, text.error().to_string()});
    auto fresh = config::parse(*text, options_.file);
    if (!fresh) {
        std::string problems;
        for (const auto& each : fresh.error()) problems += (problems.empty() ? "" : "; ") + each.to_string();
        return std::unexpected(Error{0, problems});
    }
    if (auto key = needs_restart(config_, *fresh); !key.empty())
        return std::unexpected(Error{0, key + " has changed: that needs \"postrider stop\" and \"postrider start\""});
    if (auto why = beyond_confinement(config_, *fresh); !why.empty())
        return std::unexpected(Error{0, why + ": that needs \"postrider stop\" and \"postrider start\""});
    auto text_file = TRY(sealed(*text));
    auto log_file = TRY(RuntimeDirectory::open_log(*fresh));
    TRY(runtime_directory_.make_slots(*fresh));
    TRY(keys_.load(*fresh, Loop::now().monotonic));
    account_tokens_.use(keys_.credentials());
    TRY(runtime_directory_.bind_listeners(fresh->listeners));
    text_ = *std::move(text);
    text_file_ = std::move(text_file);
    config_ = *std::move(fresh);
    bind_metrics();
    use_log(std::move(log_file));
    log_warnings();
    publish();
    return {};
}

// As many workers as the new configuration wants: new ones are started, surplus ones stopped.
void Master::update_workers() {
    auto plan = common::process_plan(config_);
    for (auto& child : children_)
        if (std::ranges::find(plan, child->name(), &common::PlannedProcess::name) == plan.end())
            child->stop(config_.master.stop_timeout);
    for (auto& planned : plan) {
        if (std::ranges::any_of(children_, [&](const auto& c) {
                return c->name() == planned.name && c->state() != Child::State::stopping &&
                       c->state() != Child::State::ended;
            }))
            continue;
        children_.push_back(std::make_unique<Child>(loop_, log_, *this, std::move(planned)));
        children_.back()->start();
    }
    sweep_.schedule();
}

Result<> Master::reopen_log() {
    auto log_file = RuntimeDirectory::open_log(config_);
    if (!log_file) {
        log_.error("{}: going on with the old one", log_file.error().what);
        return std::unexpected(log_file.error());
    }
    use_log(*std::move(log_file));
    for (auto& child : children_) child->resend_orders();
    log_.info("log re-opened");
    return {};
}

// A syslog daemon may start or stop at any time. Lines sent to it since the last check are lost.
void Master::check_syslog() {
    if (!config_.log.syslog || !config_.log.file.empty()) return;
    const bool answers = common::syslog_answers(config_.log.syslog_socket);
    if (answers == !log_file_) return;
    auto log_file = RuntimeDirectory::open_log(config_);
    if (!log_file || (!answers && !*log_file)) return; // no other destination either
    use_log(*std::move(log_file));
    for (auto& child : children_) child->resend_orders();
    if (answers) log_.info("a syslog daemon listens at {} again: log lines go there", config_.log.syslog_socket);
    else log_.warning("{}", common::syslog_warning(config_));
}

void Master::use_log(common::Fd file) {
    log_.configure(common::log_settings(config_.log),
                   file ? common::Fd(fcntl(file.number(), F_DUPFD_CLOEXEC, 3)) : common::Fd());
    log_file_ = std::move(file);
}

void Master::answer_reloaded() {
    if (generation_ > 1) systemd_.send("READY=1");
    reload_bound_.stop();
    for (auto peer : std::exchange(reloading_, {})) {
        control_->send(peer, {{"generation", generation_}});
        control_->finish(peer);
    }
}

// New mail first, then the queue, then everybody else; each within a part of the bound. Asked twice: at once.
void Master::stop(std::string_view why) {
    if (std::exchange(stopping_, true)) {
        for (auto& child : children_) child->kill();
        return;
    }
    systemd_.stopping(config_.master.stop_timeout + common::stop_phases * grace);
    report_status();
    log_.info("{}", why);
    patience_.stop();
    runtime_directory_.withdraw("submit"); // from now on sendmail leaves mail in drop/
    for (auto peer : std::exchange(reloading_, {})) control_->refuse(peer, "it is being stopped");
    phase_ = 0;
    begin_phase();
    next_phase();
}

void Master::begin_phase() {
    const auto whole = config_.master.stop_timeout;
    const smtp::Duration within = phase_ == 1 ? whole / 2 : whole / 4;
    for (auto& child : children_)
        if (child->plan().stop_phase == phase_) {
            if (child->alive())
                for (auto peer : stopping_peers_) control_->send(peer, {{"stopping", child->name()}});
            child->stop(within);
        }
    bound_.start(within + grace);
}

void Master::next_phase() {
    const auto done = [&] {
        return std::ranges::none_of(children_, [&](const auto& child) {
            return child->plan().stop_phase <= phase_ && child->alive();
        });
    };
    while (done()) {
        if (++phase_ == common::stop_phases) return finished();
        begin_phase();
    }
}

void Master::stop_phase_timed_out() {
    for (auto& child : children_)
        if (child->plan().stop_phase <= phase_ && child->alive()) {
            log_.warning("{} (pid {}) has not stopped in time: killed", child->name(), child->pid());
            child->kill();
        }
}

void Master::finished() {
    bound_.stop();
    log_.info("stopped");
    common::remove_effective_config(config_);
    runtime_directory_.release();
    for (auto peer : std::exchange(stopping_peers_, {})) control_->finish(peer);
    loop_.defer([this] { loop_.stop(); }); // the answers are out by then
}

json Master::status_json(const Child& child) const {
    return {
        {"process", child.name()},
        {"role", proto::name_of(child.plan().role)},
        {"instance", child.plan().instance},
        {"pid", child.pid()},
        {"state", child.state_name()},
        {"since", std::chrono::floor<std::chrono::seconds>(child.since()).time_since_epoch().count()},
        {"restarts", child.restarts()},
        {"generation", child.generation()},
        {"confinement", child.confinement()},
        {"problem", child.problem()},
    };
}

json Master::status_json() const {
    auto warnings = warnings_;
    std::ranges::move(common::environment_warnings(config_), std::back_inserter(warnings));
    for (const auto* each : {&keys_.problem(), &runtime_directory_.warning()})
        if (!each->empty()) warnings.insert(warnings.begin(), *each);
    return {
        {"process", "master"},
        {"pid", getpid()},
        {"state", stopping_ ? "stopping" : announced_ ? "running" : "starting"},
        {"since", std::chrono::floor<std::chrono::seconds>(since_).time_since_epoch().count()},
        {"generation", generation_},
        {"file", config_.file},
        {"log", common::log_file(config_)},
        {"warnings", std::move(warnings)},
        {"single_user", !runtime_directory_.users().service.has_value()},
    };
}

void Master::control(const ipc::JsonServer::Request& request, const json& body) {
    const auto op = body.value("op", "");
    const auto peer = request.peer;
    if (op == "status") {
        control_->send(peer, status_json());
        for (const auto& child : children_) control_->send(peer, status_json(*child));
        control_->finish(peer);
    } else if (op == "stop") {
        stopping_peers_.push_back(peer);
        if (!stopping_) stop();
    } else if (op == "reload") {
        if (auto done = reload(); !done) {
            control_->refuse(peer, done.error().what);
            return;
        }
        reloading_.push_back(peer);
        reload_bound_.start(reload_limit);
    } else if (op == "reopen-logs") {
        if (auto done = reopen_log(); done) control_->finish(peer);
        else control_->refuse(peer, done.error().what);
    } else {
        control_->refuse(peer, "master knows no operation \"" + op + "\": it knows status, stop, reload and reopen-logs");
    }
}

} // namespace master

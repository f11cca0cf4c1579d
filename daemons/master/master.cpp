#include "daemons/master/master.h"
#include "daemons/common/commands/config_warnings.h"
#include "daemons/common/commands/effective_config.h"
#include "daemons/common/config/load.h"
#include "daemons/common/logging/log_destination.h"
#include "daemons/common/process/process_plan.h"
#include "daemons/common/process/programs.h"
#include "daemons/master/children/orphans.h"
#include "daemons/master/reload_check.h"
#include "daemons/master/secrets/sealed_file.h"
#include "daemons/master/system/service_status.h"
#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

namespace master {

using namespace std::chrono_literals;
using common::Loop;
using nlohmann::json;
using spool::Error;
using spool::Result;
namespace supervision = proto::supervision;

namespace {

constexpr smtp::Duration not_ready_interval = 5s; // between log lines about processes that are not ready yet
constexpr int not_ready_limit = 6;                // such lines before the start is given up
constexpr unsigned deaths_limit = 5;              // in a row, before the start is given up
constexpr smtp::Duration reload_limit = 20s;

json process_json(const Child& child) {
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

} // namespace

Master::Master(common::Loop& loop, common::Log& log, Options options, std::string text, config::Config config,
               Users users)
    : loop_(loop), log_(log), options_(std::move(options)), text_(std::move(text)), config_(std::move(config)),
      runtime_directory_(log, std::move(users)),
      keys_(runtime_directory_.users().service ? runtime_directory_.users().service->uid : geteuid()),
      account_tokens_(loop, log, runtime_directory_.users().service ? &*runtime_directory_.users().service : nullptr),
      sinks_(runtime_directory_.users().service ? &*runtime_directory_.users().service : nullptr), log_file_(log),
      children_(loop, log, *this), orderly_stop_(loop, log, children_,
                                                 {[this](const Child& child) {
                                                      for (auto peer : stopping_peers_)
                                                          control_->send(peer, {{"stopping", child.name()}});
                                                  },
                                                  [this] { finished(); }}),
      systemd_(std::getenv("NOTIFY_SOCKET") ? std::getenv("NOTIFY_SOCKET") : ""),
      heartbeat_(loop, [this] { heartbeat(); }), patience_(loop, [this] { not_ready_yet(); }),
      watchdog_(loop,
                [this] {
                    systemd_.send("WATCHDOG=1");
                    watchdog_.start(*watchdog_interval());
                }),
      daily_timer_(loop, [this] { log_warnings(); }),
      reload_bound_(loop,
                    [this] {
                        for (auto peer : std::exchange(reloading_, {}))
                            control_->refuse(peer, "not all processes have applied the new configuration yet: " +
                                                       children_.unready_names(generation_));
                    }),
      since_(Loop::now().wall) {}

Master::~Master() = default;

Result<> Master::open(common::Fd log_file, std::map<std::string, common::Fd> handed) {
    log_file_.adopt(std::move(log_file));
    const auto sockets_of_systemd = handed.size();
    runtime_directory_.adopt(std::move(handed));
    TRY(runtime_directory_.acquire(config_));
    TRY(runtime_directory_.bind_local_sockets(config_));
    TRY(runtime_directory_.bind_listeners(config_.listeners));
    bind_metrics();
    bind_http();
    if (options_.announce >= 0) errors_ = TRY(runtime_directory_.open_errors());
    text_file_ = TRY(sealed(text_));
    TRY(keys_.load(config_, Loop::now().monotonic));
    account_tokens_.use(keys_.credentials());
    sinks_.use(config_.hooks);
    control_ = std::make_unique<ipc::JsonServer>(
        loop_, log_, common::Fd(fcntl(runtime_directory_.local_socket("master"), F_DUPFD_CLOEXEC, 3)), operators(),
        [this](const ipc::JsonServer::Request& request, const nlohmann::json& body) { control(request, body); });
    watch_signals();
    children_.start(common::installed_plan(config_));
    patience_.start(not_ready_interval);
    heartbeat_.start(config_.master.heartbeat_interval);
    if (watchdog_interval()) watchdog_.start(*watchdog_interval());
    log_.info("daemon started -- version {}, configuration {}: {} processes, spool {}{}", POSTRIDER_VERSION,
              config_.file, children_.all().size(), config_.spool.directory,
              sockets_of_systemd == 0 ? "" : fmt::format(", {} listening sockets from systemd", sockets_of_systemd));
    report_status();
    for (const auto& each : common::missing_groups(config_.mta)) log_.warning("{}", each);
    log_warnings();
    publish();
    return {};
}

// For commands whose user may not read the configuration, or that find it broken one day.
void Master::publish() {
    if (auto done = common::publish_effective_config(config_); !done)
        log_.info("{}: while {} has errors, commands will not work", done.error().what, config_.file);
}

void Master::log_warnings() {
    warnings_ = common::config_warnings(config_, Loop::now().wall);
    for (const auto& each : warnings_) log_.warning("{}", each);
    for (const auto& each : common::environment_warnings(config_)) log_.warning("{}", each);
    daily_timer_.start(24h);
}

// A port in use is no reason not to carry mail.
void Master::bind_metrics() {
    if (auto bound = runtime_directory_.bind_metrics(config_.metrics); !bound)
        log_.error("metrics.listen: {}: metrics cannot be read there; \"postrider reload\" tries again",
                   bound.error().what);
}

void Master::bind_http() {
    if (auto bound = runtime_directory_.bind_http(config_.http); !bound)
        log_.error("http.listen: {}: the API is not served there; \"postrider reload\" tries again",
                   bound.error().what);
}

void Master::watch_signals() {
    const auto on = [this](int number, uv_signal_cb callback) {
        auto& signal = signals_.emplace_back(common::make_signal(loop_.uv(), this));
        uv_signal_start(signal.get(), callback, number);
    };
    on(SIGCHLD, [](uv_signal_t* s, int) { common::owner_of<Master>(s)->reap(); });
    const auto terminate = [](uv_signal_t* s, int which) {
        common::owner_of<Master>(s)->stop(fmt::format("terminating on signal {}", which));
    };
    on(SIGTERM, terminate);
    on(SIGINT, terminate);
    on(SIGHUP, [](uv_signal_t* s, int) { (void)common::owner_of<Master>(s)->reload(); });
    on(SIGUSR1, [](uv_signal_t* s, int) { (void)common::owner_of<Master>(s)->reopen_log(); });
}

common::Operators Master::operators() const {
    const auto& users = runtime_directory_.users();
    return {users.service ? users.service->uid : geteuid(), !users.service, users.admin_group};
}

Program Master::program_of(const Child& child) {
    const auto& plan = child.plan();
    Program program;
    program.path = common::program_path(proto::name_of(plan.role));
    if (const auto slash = plan.name.find('/'); slash != plan.name.npos)
        program.arguments.push_back(plan.name.substr(slash + 1)); // for ps(1) only
    const bool keeps_root = plan.as_root && runtime_directory_.users().service;
    if (runtime_directory_.users().service && !keeps_root) program.user = &*runtime_directory_.users().service;
    program.may_gain_rights = keeps_root;
    program.errors = errors_.number();
    program.own_environment = !config_.mta.users; // one user: it is that user's own
    return program;
}

void Master::send_orders(const Child& child, common::MasterLink& link) {
    const auto& plan = child.plan();
    supervision::Configure orders;
    orders.generation = generation_;
    orders.file = config_.file;
    orders.instance = plan.instance;
    for (const auto& server : common::installed_plan(config_))
        if (std::ranges::find(server.expects, plan.role) != server.expects.end())
            orders.tokens.push_back(
                {std::string(proto::name_of(server.role)), server_keys_.token(server.role, plan.role, plan.instance)});
    if (!plan.expects.empty()) orders.key = server_keys_.of(plan.role);
    for (const auto role : plan.expects) orders.expected.emplace_back(proto::name_of(role));
    orders.single_user = !runtime_directory_.users().service;
    orders.has_operators = runtime_directory_.users().admin_group.has_value();
    orders.operators = runtime_directory_.users().admin_group.value_or(0);
    std::vector<int> descriptors = {text_file_.number()};
    if (log_file_.has_file()) {
        orders.has_log_file = true;
        descriptors.push_back(log_file_.number());
    }
    if (plan.secrets) {
        orders.has_secrets = true;
        descriptors.push_back(keys_.file_for(plan.role));
    }
    const auto hand = [&](std::string name, std::string address, int fd) {
        orders.listeners.push_back({std::move(name), std::move(address)});
        descriptors.push_back(fd);
    };
    for (const auto& socket : common::local_sockets())
        if (std::ranges::find(plan.local_sockets, socket.name) != plan.local_sockets.end())
            hand(std::string(socket.name), runtime_directory_.run() + '/' + std::string(socket.path),
                 runtime_directory_.local_socket(socket.name));
    if (plan.tcp_listeners)
        for (auto& bound : runtime_directory_.listeners()) hand(bound.name, bound.address, bound.fd);
    if (plan.metrics_listeners)
        for (auto& bound : runtime_directory_.metrics_listeners()) hand(bound.name, bound.address, bound.fd);
    if (plan.http_listeners)
        for (auto& bound : runtime_directory_.http_listeners()) hand(bound.name, bound.address, bound.fd);
    link.send(orders, descriptors);
}

void Master::reap() {
    children_.reap();
    for (const auto pid : account_tokens_.running())
        if (int status = 0; waitpid(pid, &status, WNOHANG) == pid) account_tokens_.has_ended(pid, status);
    for (const auto pid : sinks_.running())
        if (waitpid(pid, nullptr, WNOHANG) == pid) sinks_.has_ended(pid);
    reap_orphans([this](pid_t pid) {
        const auto tokens = account_tokens_.running(), sinks = sinks_.running();
        return children_.with_pid(pid) != nullptr || std::ranges::find(tokens, pid) != tokens.end() ||
               std::ranges::find(sinks, pid) != sinks.end();
    });
}

void Master::heartbeat() {
    systemd_.send_pending();
    oom_kills_.forget_earlier();
    children_.heartbeat();
    refresh_keys();
    if (log_file_.follow_syslog(config_)) children_.resend_orders();
    heartbeat_.start(config_.master.heartbeat_interval);
}

// Renewed certificates and credentials are in use soon, even without a reload.
void Master::refresh_keys() {
    const auto news = keys_.refresh(config_, Loop::now().monotonic);
    if (!news) return log_.error("{}", keys_.problem());
    for (const auto& file : keys_.renewed()) log_.info("{}: changed and applied", file);
    if (std::ranges::find(*news, proto::Role::smtp_client) != news->end()) account_tokens_.use(keys_.credentials());
    for (const auto& child : children_.all())
        if (std::ranges::find(*news, child->plan().role) != news->end()) child->resend_orders();
    if (!news->empty()) log_warnings();
}

void Master::ready(Child& child) {
    if (stopping_) return;
    report_status();
    if (child.restarts() > 0 && child.generation() == generation_ && child.deaths_in_a_row() > 1)
        log_.info("{} (pid {}) is running again", child.name(), child.pid());
    if (!children_.all_ready(generation_)) return;
    if (!announced_) everything_ready();
    answer_reloaded();
}

void Master::everything_ready() {
    announced_ = true;
    patience_.stop();
    systemd_.send("READY=1");
    report_status();
    children_.heartbeat(); // their first status reports
    log_.info("ready");
    if (options_.announce < 0) {
        const auto file = common::log_file(config_);
        if (file == "/dev/stdout") return; // only log lines
        fmt::print("postrider is running (pid {}); log: {}\n", getpid(), file.empty() ? "syslog" : file);
        std::fflush(stdout);
        return;
    }
    const common::Fd announce(options_.announce), nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
    for (int fd : {0, 1}) dup2(nowhere.number(), fd);
    dup2(errors_.number(), 2);
    (void)!write(announce.number(), "ready\n", 6);
}

void Master::not_ready_yet() {
    if (++not_ready_count_ == not_ready_limit)
        return fail_to_start("not ready after 30 s: " + children_.unready_names(generation_));
    fmt::print(stderr, "postrider: waiting for {}\n", children_.unready_names(generation_));
    patience_.start(not_ready_interval);
}

void Master::fail_to_start(const std::string& why) {
    log_.critical("{}", why);
    fmt::print(stderr, "postrider: cannot start: {}\n", why);
    status_ = 69;
    stop();
}

void Master::problem_changed(Child& child) {
    report_status();
    if (child.problem().empty()) return;
    log_.warning("{}: {}", child.name(), child.problem());
    if (!announced_ && !stopping_) fmt::print(stderr, "postrider: {}: {}\n", child.name(), child.problem());
}

void Master::answered(Child& child) {
    if (child.plan().role == proto::Role::queue_manager) report_status();
}

void Master::report_status() {
    ServiceStatus status;
    status.processes = static_cast<unsigned>(children_.all().size());
    status.waiting_for = children_.unready_names(generation_);
    using enum ServiceStatus::Stage;
    status.stage = stopping_                           ? stopping
                   : !announced_                       ? starting
                   : children_.any_behind(generation_) ? reloading
                                                       : running;
    if (stopping_) status.waiting_for = children_.alive_names();
    for (const auto& child : children_.all())
        if (child->plan().role == proto::Role::queue_manager) status.queue = child->status_text();
    const auto text = text_of(status);
    if (text == std::exchange(status_text_, text)) return;
    systemd_.send("STATUS=" + text);
}

// A process that was restarted meanwhile has not asked.
void Master::token_wanted(Child& child, const supervision::AccessTokenWanted& wanted) {
    if (child.plan().role != proto::Role::smtp_client) return;
    account_tokens_.ask(wanted.account, wanted.refused, Loop::now().monotonic,
                        [this, request = wanted.request, pid = child.pid()](const Tokens::Answer& answer) {
                            auto* asker = children_.with_pid(pid);
                            if (!asker) return;
                            supervision::AccessToken token{request, answer.number, answer.fresh, answer.problem};
                            auto file =
                                answer.problem.empty() ? sealed(std::string(answer.text)) : Result<common::Fd>();
                            if (!file) token.problem = file.error().what;
                            asker->answer(token, file ? file->number() : -1);
                        });
}

void Master::sink_wanted(Child& child, const supervision::SinkWanted& wanted) {
    if (child.plan().role != proto::Role::events) return;
    auto pipes = sinks_.start(wanted.hook, errors_.number());
    if (!pipes) return child.answer(supervision::Sink{wanted.request, pipes.error().what}, {});
    child.answer(supervision::Sink{wanted.request, {}}, {pipes->input.number(), pipes->output.number()});
}

void Master::ended(Child& child, bool crashed) {
    const auto role = child.plan().role;
    const bool agent = role == proto::Role::smtp_client || role == proto::Role::local;
    const bool comes_again = !stopping_ && child.state() != Child::State::ended;
    for (const auto& each : children_.all())
        if ((agent && each->plan().role == proto::Role::queue_manager) ||
            (comes_again && each->plan().role == proto::Role::metrics))
            each->tell({std::string(proto::name_of(role)), child.plan().instance, crashed});
    if (stopping_) {
        child.stop({}); // not started again
        report_status();
        return orderly_stop_.child_ended();
    }
    report_status();
    if (child.state() == Child::State::ended) return children_.forget_ended();
    if (!announced_ && child.deaths_in_a_row() >= deaths_limit)
        fail_to_start(fmt::format("{} exits as soon as it is started{}{}", child.name(),
                                  child.problem().empty() ? "" : ": ", child.problem()));
}

// ---- reload, orderly stop, and the control socket that requests them ----

Result<> Master::reload() {
    if (stopping_) return std::unexpected(Error{0, "it is being stopped"});
    auto outcome = load_new_configuration();
    if (!outcome) {
        log_.error("reload refused, the previous configuration stays in force: {}", outcome.error().what);
        return outcome;
    }
    systemd_.reloading();
    ++generation_;
    children_.follow(common::installed_plan(config_), config_.master.stop_timeout);
    children_.resend_orders();
    report_status();
    log_.info("reload -- version {}, configuration {}: generation {}", POSTRIDER_VERSION, config_.file, generation_);
    return {};
}

// All or nothing: if anything fails, everything stays as it was.
Result<> Master::load_new_configuration() {
    auto text = config::read_text(options_.file);
    if (!text) return std::unexpected(Error{0, text.error().to_string()});
    auto fresh = config::parse(*text, options_.file);
    if (!fresh) {
        std::string problems;
        for (const auto& each : fresh.error()) problems += (problems.empty() ? "" : "; ") + each.to_string();
        return std::unexpected(Error{0, problems});
    }
    TRY(check_reload(config_, *fresh));
    auto text_file = TRY(sealed(*text));
    auto log_file = TRY(RuntimeDirectory::open_log(*fresh));
    TRY(runtime_directory_.make_slots(*fresh));
    TRY(keys_.load(*fresh, Loop::now().monotonic));
    account_tokens_.use(keys_.credentials());
    TRY(runtime_directory_.bind_listeners(fresh->listeners));
    TRY(runtime_directory_.bind_local_sockets(*fresh));
    text_ = *std::move(text);
    text_file_ = std::move(text_file);
    config_ = *std::move(fresh);
    sinks_.use(config_.hooks);
    bind_metrics();
    bind_http();
    log_file_.use(config_, std::move(log_file));
    log_warnings();
    publish();
    return {};
}

Result<> Master::reopen_log() {
    TRY(log_file_.reopen(config_));
    children_.resend_orders();
    log_.info("log re-opened");
    return {};
}

void Master::answer_reloaded() {
    if (generation_ > 1) systemd_.send("READY=1");
    reload_bound_.stop();
    for (auto peer : std::exchange(reloading_, {})) {
        control_->send(peer, {{"generation", generation_}});
        control_->finish(peer);
    }
}

// A second request: at once.
void Master::stop(std::string_view why) {
    if (std::exchange(stopping_, true)) {
        children_.kill();
        return;
    }
    systemd_.stopping(OrderlyStop::longest(config_.master.stop_timeout));
    report_status();
    log_.info("{}", why);
    patience_.stop();
    runtime_directory_.withdraw("submit"); // from now on sendmail leaves mail in drop/
    for (auto peer : std::exchange(reloading_, {})) control_->refuse(peer, "it is being stopped");
    orderly_stop_.begin(config_.master.stop_timeout);
}

void Master::finished() {
    log_.info("stopped");
    common::remove_effective_config(config_);
    runtime_directory_.release();
    for (auto peer : std::exchange(stopping_peers_, {})) control_->finish(peer);
    loop_.defer([this] { loop_.stop(); }); // the replies are sent by then
}

json Master::status_json() const {
    auto warnings = warnings_;
    std::ranges::move(common::environment_warnings(config_), std::back_inserter(warnings));
    for (const auto* each : {&keys_.problem(), &runtime_directory_.warning()})
        if (!each->empty()) warnings.insert(warnings.begin(), *each);
    return {
        {"process", "master"},
        {"pid", getpid()},
        {"state", stopping_    ? "stopping"
                  : announced_ ? "running"
                               : "starting"},
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
        for (const auto& child : children_.all()) control_->send(peer, process_json(*child));
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
        if (auto done = reopen_log(); done)
            control_->finish(peer);
        else
            control_->refuse(peer, done.error().what);
    } else {
        control_->refuse(peer, "unknown operation \"" + op + "\": expected status, stop, reload or reopen-logs");
    }
}

} // namespace master

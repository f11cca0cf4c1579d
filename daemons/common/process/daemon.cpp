#include "daemons/common/process/daemon.h"
#include "daemons/common/config/config.h"
#include "daemons/common/config/load.h"
#include "daemons/common/ipc/message.h"
#include "daemons/common/process/confinement.h"
#include "daemons/common/process/metrics_reporter.h"
#include "daemons/common/process/privileges.h"
#include "daemons/common/process/supervision.h"
#include "libspool/disk/real_disk.h"
#include "libspool/store/writer_alive.h"
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace common {

using namespace std::chrono_literals;
namespace supervision = proto::supervision;

namespace {

constexpr int master_descriptor = 3;
constexpr smtp::Duration orphan_stop_timeout = 15s; // after master has gone
constexpr smtp::Duration look_again = 250ms;        // whether a process of the previous master has released its slot

std::optional<proto::Role> role_named(std::string_view name) {
    for (int i = 0; i <= static_cast<int>(proto::Role::last_); ++i)
        if (proto::name_of(static_cast<proto::Role>(i)) == name) return static_cast<proto::Role>(i);
    return {};
}

std::string whole_text(int fd) {
    std::string text;
    char space[16384];
    for (;;) {
        const auto n = pread(fd, space, sizeof space, static_cast<off_t>(text.size()));
        if (n <= 0) return text;
        text.append(space, static_cast<std::size_t>(n));
    }
}

// A daemon from its start to its end.
class Frame {
public:
    Frame(proto::Role role, std::string_view service, const CreateDaemon& create, unsigned pool_threads)
        : create_(create), loop_(pool_threads), log_(loop_, service),
          master_(loop_, Fd(master_descriptor),
                  {[this](supervision::Message&& message, std::vector<Fd> descriptors) {
                       take(std::move(message), std::move(descriptors));
                   },
                   [this](const std::string&) { orphaned(); }}),
          bound_(loop_, [this] { stop_timed_out(); }), predecessor_(loop_, [this] { try_again(); }),
          terminate_(make_signal(loop_.uv(), this)),
          context_{loop_,
                   log_,
                   {role, 0, {}},
                   {},
                   [this](std::string_view text) { report_problem(text); },
                   [this](std::string account, std::uint64_t refused, std::function<void(Token)> answer) {
                       request_token(std::move(account), refused, std::move(answer));
                   },
                   [this](std::string hook, std::function<void(SinkPipes)> answer) {
                       awaited_sinks_.emplace(++sink_requests_, std::move(answer));
                       master_.send(supervision::SinkWanted{sink_requests_, std::move(hook)});
                   }} {
        uv_signal_start(
            terminate_.get(), [](uv_signal_t* s, int) { owner_of<Frame>(s)->stop(orphan_stop_timeout); }, SIGTERM);
        uv_unref(reinterpret_cast<uv_handle_t*>(terminate_.get()));
    }

    int run() {
        loop_.run();
        if (daemon_) {
            alarm(5); // the process ends, whatever happens while it does
            if (reporter_) reporter_->send_final();
            reporter_.reset();
            daemon_.reset();
        }
        log_.flush();
        return status_;
    }

private:
    void take(supervision::Message&& message, std::vector<Fd> descriptors) {
        if (auto* configure = std::get_if<supervision::Configure>(&message))
            return this->configure(*configure, std::move(descriptors));
        if (auto* ping = std::get_if<supervision::Ping>(&message))
            return master_.send(supervision::Pong{ping->number, daemon_ ? daemon_->status_text() : std::string()});
        if (auto* token = std::get_if<supervision::AccessToken>(&message)) return this->token(*token, descriptors);
        if (auto* sink = std::get_if<supervision::Sink>(&message)) return this->sink(*sink, std::move(descriptors));
        if (auto* died = std::get_if<supervision::ProcessEnded>(&message); died && daemon_)
            daemon_->process_ended(died->role, died->instance, died->crashed);
        if (auto* stop = std::get_if<supervision::Stop>(&message)) this->stop(smtp::Duration(stop->within));
    }

    void configure(const supervision::Configure& message, std::vector<Fd> descriptors) {
        if (stopping_) return;
        const std::size_t wanted = 1u + message.has_log_file + message.has_secrets + message.listeners.size();
        if (descriptors.size() != wanted) return fail_start("the configuration from master is incomplete", 70);
        const auto text = whole_text(descriptors[0].number());
        auto config = config::parse(text, message.file);
        if (!config) { // although master has parsed the same text
            if (!daemon_) return fail_start(config.error().front().to_string(), 78);
            log_.error("{}: keeping the previous configuration", config.error().front().to_string());
            return report_problem(config.error().front().to_string());
        }
        if (!daemon_ && must_wait_for_predecessor(message, *config)) {
            pending_.emplace(message, std::move(descriptors));
            return predecessor_.start(look_again);
        }
        std::size_t next = 1;
        log_.configure(log_settings(config->log), message.has_log_file ? std::move(descriptors[next++]) : Fd());
        auto fresh = std::make_unique<config::Config>(*std::move(config));
        DaemonConfig daemon_config{*fresh, message.generation, {}, {}};
        if (message.has_secrets) {
            keep_memory_private();
            auto secrets = ipc::decode<proto::secrets::Message>(whole_text(descriptors[next++].number()));
            if (!secrets) return fail_start("the secrets from master are incomplete", 70);
            daemon_config.secrets = std::make_shared<const proto::secrets::Message>(*std::move(secrets));
        }
        for (const auto& listener : message.listeners)
            daemon_config.listeners.push_back({listener.name, listener.address, std::move(descriptors[next++])});
        context_.identity.tokens.clear(); // a reload may add a server, such as metrics
        for (const auto& token : message.tokens) context_.identity.tokens.push_back({token.server, token.token});
        daemon_config.expected.key = message.key;
        for (const auto& name : message.expected)
            if (auto role = role_named(name)) daemon_config.expected.roles.push_back(*role);
        daemon_config.operators = {geteuid(), message.single_user, {}};
        if (message.has_operators) daemon_config.operators.group = message.operators;
        daemon_config.text = text;
        serve(message, std::move(daemon_config));
        config_ = std::move(fresh); // only now may the previous one be destroyed
        configure_metrics();
        if (!stopping_) master_.send(supervision::Ready{message.generation, confinement_.text});
    }

    // The previous master was killed, and the process that writes in our slot has yet to finish receiving from its
    // clients.
    bool must_wait_for_predecessor(const supervision::Configure& message, const config::Config& config) {
        const auto role = context_.identity.role;
        if (role != proto::Role::smtpd && role != proto::Role::pickup && role != proto::Role::bounce) return false;
        const auto disk = spool::RealDisk::open_at(config.spool.directory);
        const auto lives = disk ? spool::writer_alive(**disk, static_cast<std::uint8_t>(message.instance))
                                : spool::Result<bool>(false); // the problem shows when it is opened
        const bool waits = lives && *lives;
        if (waits != std::exchange(waiting_, waits))
            report_problem(
                waits ? fmt::format("waiting for the {} of the previous master to finish", proto::name_of(role)) : "");
        return waits;
    }

    void try_again() {
        auto [message, descriptors] = *std::exchange(pending_, {});
        configure(message, std::move(descriptors));
    }

    void serve(const supervision::Configure& message, DaemonConfig daemon_config) {
        if (daemon_) return daemon_->reconfigure(std::move(daemon_config));
        context_.identity.instance = message.instance;
        context_.run_directory = daemon_config.config.spool.directory + "/run";
        // Now, because the paths are known from the configuration, and there is no thread yet.
        confinement_ = confine(access_rights_of(context_.identity.role, message.instance, daemon_config.config));
        if (!confinement_.is_complete() && context_.identity.role != proto::Role::local)
            log_.warning("confinement: {}", confinement_.text);
        auto daemon = create_(context_, std::move(daemon_config));
        if (!daemon) return fail_start(daemon.error().what, 75);
        daemon_ = *std::move(daemon);
    }

    // No reports where metrics are not served.
    void configure_metrics() {
        if (!daemon_ || stopping_ || context_.identity.role == proto::Role::metrics) return;
        if (!config_->metrics.enabled()) return reporter_.reset();
        if (!reporter_)
            reporter_.emplace(loop_, log_, context_.run_directory, context_.identity, context_.metrics,
                              [this] { daemon_->update_gauges(context_.metrics); });
    }

    void request_token(std::string account, std::uint64_t refused, std::function<void(Token)> answer) {
        awaited_tokens_.emplace(++token_requests_, std::move(answer));
        master_.send(supervision::AccessTokenWanted{token_requests_, std::move(account), refused});
    }

    void token(const supervision::AccessToken& message, const std::vector<Fd>& descriptors) {
        auto asked = awaited_tokens_.extract(message.request);
        if (asked.empty()) return;
        Token token{{}, message.number, message.fresh, message.problem};
        if (token.problem.empty() && descriptors.empty()) token.problem = "the answer from master is incomplete";
        if (!descriptors.empty()) token.text = smtp::Secret(whole_text(descriptors.front().number()));
        asked.mapped()(std::move(token));
    }

    void sink(const supervision::Sink& message, std::vector<Fd> descriptors) {
        auto asked = awaited_sinks_.extract(message.request);
        if (asked.empty()) return;
        SinkPipes pipes{{}, {}, message.problem};
        if (pipes.problem.empty() && descriptors.size() != 2) pipes.problem = "the answer from master is incomplete";
        if (pipes.problem.empty()) pipes = {std::move(descriptors[0]), std::move(descriptors[1]), {}};
        asked.mapped()(std::move(pipes));
    }

    // A packet to master has a maximum size, and a status should be readable: a long one is cut.
    void report_problem(std::string_view text) {
        master_.send(supervision::Problem{std::string(text.substr(0, max_problem_size))});
    }
    static constexpr std::size_t max_problem_size = 16 * 1024;

    void fail_start(const std::string& why, int status) {
        log_.critical("{}", why);
        report_problem(why);
        stopping_ = true;
        finish(status);
    }

    void orphaned() {
        if (stopping_) return;
        log_.warning("master has exited: finishing work in progress");
        stop(orphan_stop_timeout);
    }

    void stop(smtp::Duration within) {
        if (stopping_) return;
        stopping_ = true;
        predecessor_.stop();
        bound_.start(within);
        if (daemon_)
            daemon_->stop(within, [this] { finish(0); });
        else
            finish(0);
    }

    void finish(int status) {
        status_ = status;
        loop_.stop();
    }

    void stop_timed_out() {
        log_.warning("stopping with work still in progress");
        finish(0);
    }

    const CreateDaemon& create_;
    Loop loop_;
    Log log_;
    MasterLink master_;
    Timer bound_, predecessor_;
    std::optional<std::pair<supervision::Configure, std::vector<Fd>>> pending_; // until the predecessor has gone
    bool waiting_ = false;                                                      // for it
    Handle<uv_signal_t> terminate_;
    DaemonContext context_;
    std::unique_ptr<config::Config> config_;
    std::unique_ptr<Daemon> daemon_;
    std::optional<MetricsReporter> reporter_;
    Confinement confinement_;
    std::map<std::uint64_t, std::function<void(Token)>> awaited_tokens_; // by request
    std::uint64_t token_requests_ = 0;
    std::map<std::uint64_t, std::function<void(SinkPipes)>> awaited_sinks_; // by request
    std::uint64_t sink_requests_ = 0;
    bool stopping_ = false;
    int status_ = 0;
};

bool started_by_master() {
    int type = 0;
    socklen_t size = sizeof type;
    return getsockopt(master_descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

} // namespace

LogSettings log_settings(const config::Log& log) {
    LogSettings settings;
    settings.name = log.name;
    settings.syslog = log.syslog;
    settings.syslog_socket = log.syslog_socket;
    settings.json = log.json;
    settings.max_buffered = log.buffer;
    constexpr Severity least[] = {Severity::error, Severity::warning, Severity::info, Severity::debug};
    settings.min_severity = least[static_cast<std::size_t>(log.level)];
    return settings;
}

Fd DaemonConfig::take(std::string_view name) {
    const auto found = std::ranges::find(listeners, name, &InheritedListener::name);
    return found == listeners.end() ? Fd() : std::move(found->fd);
}

int run_daemon(proto::Role role, std::string_view service, const CreateDaemon& create, unsigned pool_threads) {
    keep_standard_descriptors();
    if (!started_by_master()) {
        std::fprintf(stderr, "postrider %s is started by master: use \"postrider start\"\n",
                     std::string(proto::name_of(role)).c_str());
        return 64;
    }
    fcntl(master_descriptor, F_SETFD, FD_CLOEXEC);
    close_descriptors_except(master_descriptor);
    std::signal(SIGINT, SIG_IGN); // from the terminal: master will send Stop
    std::signal(SIGHUP, SIG_IGN);
    umask(0077);
    keep_memory_small();
    raise_descriptor_limit();
    return Frame(role, service, create, pool_threads).run();
}

} // namespace common

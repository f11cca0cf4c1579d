#include "daemons/smtpd/smtpd.h"
#include "daemons/common/config/config.h"
#include "daemons/smtpd/session/policy_sources.h"
#include "libsmtp/text/date.h"
#include <algorithm>
#include <ctime>
#include <sys/resource.h>

namespace smtpd {

using namespace std::chrono_literals;
using When = smtp::ServerSession::When;

const std::string& DateText::at(smtp::WallTime now) {
    const auto second = std::chrono::system_clock::to_time_t(now);
    if (second == second_) return text_;
    second_ = second;
    std::tm local{};
    localtime_r(&second, &local);
    zone_ = std::chrono::minutes(local.tm_gmtoff / 60);
    text_ = smtp::rfc5322_date(now, zone_);
    return text_;
}

// As many descriptors as there may be; how many sessions they are enough for: some have files, too.
static std::size_t raise_descriptors() {
    constexpr std::size_t kept_back = 128; // logs, channels, name look-ups, files being written
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 512;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    ::getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur > 2 * kept_back ? (limit.rlim_cur - kept_back) / 4 * 3 : limit.rlim_cur / 2;
}

spool::Result<std::unique_ptr<Smtpd>> Smtpd::create(common::DaemonContext& context,
                                                    common::DaemonConfig daemon_config) {
    auto problems = std::make_unique<common::Problems>(context.report_problem);
    auto spool_writer =
        TRY(common::SpoolWriter::open(context.loop, context.log, daemon_config.config.spool,
                                 static_cast<std::uint8_t>(context.instance()), problems->reporter("spool"),
                                 context.metrics, common::MailSource::smtp));
    std::unique_ptr<Smtpd> smtpd(new Smtpd(context, daemon_config.config, std::move(problems), std::move(spool_writer)));
    smtpd->reconfigure(std::move(daemon_config));
    return smtpd;
}

Smtpd::Smtpd(common::DaemonContext& context, const config::Config& config,
             std::unique_ptr<common::Problems> problems, std::unique_ptr<common::SpoolWriter> spool_writer)
    : context_(context), log_(context.log), problems_(std::move(problems)), deadlines_(context.loop),
      spool_writer_(std::move(spool_writer)),
      keys_(log_, spool_writer_->pool(), config.idempotency, config.spool.directory,
            static_cast<std::uint8_t>(context.instance())),
      checker_(context.loop, log_, context.run_directory, context.identity),
      submission_queue_(context.loop, log_, context.run_directory, context.identity),
      worker_{context.loop,
               log_,
               deadlines_,
               *spool_writer_,
               checker_,
               submission_queue_,
               keys_,
               context.metrics,
               std::make_shared<dns::Resolver>(context.loop, config.dns),
               context.instance()},
      max_sessions_(raise_descriptors()), cleanup_hook_(context.loop, [this] { closed_connections_.clear(); }),
      stop_timeout_(context.loop, [this] { shut_down(When::now); }) {
    worker_.gone = [this](Connection& connection) { gone(connection); };
    spool_writer_->on_scarcity([this] { free_memory(); });
    spool_writer_->on_status_change([this](const std::string& obstacle) { submission_queue_.report_status(obstacle); });
}

Smtpd::~Smtpd() = default;

std::shared_ptr<const auth::PasswordFile> Smtpd::read_passwords(const common::DaemonConfig& daemon_config) {
    auto file = auth::PasswordFile::parse(daemon_config.secrets_as<proto::secrets::Server>().passwords);
    const auto& path = daemon_config.config.auth.passwords;
    problems_->set("passwords", file ? "" : path + ": " + file.error().why);
    if (file) return std::make_shared<const auth::PasswordFile>(*std::move(file));
    log_.error("nobody can authenticate: {}: {}", path, file.error().why);
    return std::make_shared<const auth::PasswordFile>();
}

void Smtpd::reconfigure(common::DaemonConfig daemon_config) {
    const auto& config = daemon_config.config;
    const auto settings = std::make_shared<const Settings>(config);
    const auto passwords = read_passwords(daemon_config);
    std::map<std::string, ListeningSocket> new_sockets;
    std::string without_tls;
    for (auto& handed : daemon_config.listeners) {
        const auto& listeners = config.listeners;
        const auto listener = std::ranges::find(listeners, handed.name, &config::Listener::name);
        if (listener == listeners.end()) continue;
        auto& listening_socket = new_sockets[handed.name + " " + handed.address];
        if (auto old = listening_sockets_.extract(handed.name + " " + handed.address))
            listening_socket = std::move(old.mapped()); // and the descriptor in force with it
        auto tls = make_tls(*settings, *listener, daemon_config.secrets_as<proto::secrets::Server>());
        if (!tls) {
            log_.error("no TLS on {}: {}", handed.address, tls.error().what);
            without_tls += (without_tls.empty() ? "" : "; ") + ("no TLS on " + handed.address + ": " + tls.error().what);
        }
        listening_socket.rules = make_rules(
            settings, *listener,
            {tls ? *std::move(tls) : nullptr, passwords, daemon_config.secrets_as<proto::secrets::Server>().pepper});
        if (!listening_socket.acceptor)
            listening_socket.acceptor = Acceptor::create(
                context_.loop, std::move(handed.fd),
                [this, key = handed.name + " " + handed.address](common::Fd socket,
                                                                 const common::Endpoint& from) {
                    if (const auto at = listening_sockets_.find(key); at != listening_sockets_.end())
                        accepted(at->second.rules, std::move(socket), from);
                },
                [this](int error) { log_.warning("cannot accept connections: {}", std::strerror(error)); });
        if (listening_socket.acceptor)
            listening_socket.acceptor->set_busy(listening_socket.rules->busy_reply);
        else
            log_.error("cannot listen on {}", handed.address);
    }
    listening_sockets_ = std::move(new_sockets);
    problems_->set("TLS", without_tls);
    worker_.resolver = std::make_shared<dns::Resolver>(context_.loop, config.dns);
    worker_.policy_sources = make_policy_sources(context_.loop, log_, config.policies, config.content,
                                                 problems_->new_reporter("advisers"));
    spool_writer_->reconfigure(config.spool);
    keys_.reconfigure(config.idempotency);
    checker_.clear_cache();
    worker_.lockouts.clear();
}

void Smtpd::update_gauges(common::Metrics& metrics) {
    metrics.set(common::MetricId::sessions_open, static_cast<std::int64_t>(connections_.size()));
    if (spool_writer_)
        metrics.set(common::MetricId::content_memory, static_cast<std::int64_t>(spool_writer_->memory().held()));
}

void Smtpd::gone(Connection& connection) {
    worker_.client_limits.release(connection.counted_network());
    closed_connections_.push_back(std::move(*connection.place));
    connections_.erase(connection.place);
    cleanup_hook_.schedule();
    update_stress();
    stopped_if_done();
}

// Above 80 % of the sessions the waiting gets shorter for everybody, until it is below 60 % again.
void Smtpd::update_stress() {
    if (listening_sockets_.empty()) return;
    std::size_t most = max_sessions_;
    for (auto& [key, listening_socket] : listening_sockets_)
        most = std::min<std::size_t>(most, listening_socket.rules->listener.sessions);
    const auto now = connections_.size();
    const bool stressed = worker_.stressed ? now * 10 > most * 6 : now * 10 > most * 8;
    if (stressed == worker_.stressed) return;
    worker_.stressed = stressed;
    if (stressed)
        log_.warning("{} of {} sessions are in use: idle ones are let go sooner", now, most);
    else
        log_.info("{} of {} sessions are in use: limits are as usual again", now, most);
    for (auto& connection : connections_) connection->stress_changed();
}

// Whoever holds most of it and does nothing with it gives way, so that others need not wait for its time-out.
void Smtpd::free_memory() {
    constexpr int at_a_time = 16;
    const auto now = common::Loop::now().monotonic;
    for (int n = 0; n < at_a_time && spool_writer_->memory().level() >= spool::ContentMemory::Level::scarce; ++n) {
        Connection* largest = nullptr;
        std::size_t most = spool::ContentMemory::small;
        for (auto& connection : connections_)
            if (const auto held = connection->idle_memory(now); held > most) {
                largest = connection.get();
                most = held;
            }
        if (!largest) return;
        log_.warning("memory is scarce: the session of {}, idle with {} bytes, gives way", largest->client().peer(), most);
        largest->evict();
    }
}

void Smtpd::stop(smtp::Duration within, std::function<void()> done) {
    stopped_ = std::move(done);
    listening_sockets_.clear();
    proxy_connections_.clear();
    submission_queue_.on_empty([this] { stopped_if_done(); });
    stop_timeout_.start(within * 3 / 4);
    shut_down(When::after_transaction);
    stopped_if_done();
}

void Smtpd::shut_down(When when) {
    std::vector<Connection*> all; // one may leave the list while it is told
    for (auto& connection : connections_) all.push_back(connection.get());
    for (auto* connection : all) connection->shut_down(when);
}

void Smtpd::stopped_if_done() {
    if (!stopped_ || !connections_.empty() || submission_queue_.waiting() > 0) return;
    if (const auto done = std::exchange(stopped_, {})) done();
}

} // namespace smtpd

#include "daemons/smtpd/smtpd.h"
#include "daemons/common/config/config.h"
#include "daemons/common/lookup/tables/tables.h"
#include "daemons/common/process/process_plan.h"
#include "daemons/common/rewriting/rewriting_settings.h"
#include "daemons/smtpd/session/policy_sources.h"
#include <algorithm>
#include <cstring>

namespace smtpd {

using When = smtp::ServerSession::When;

spool::Result<std::unique_ptr<Smtpd>> Smtpd::create(common::DaemonContext& context,
                                                    common::DaemonConfig daemon_config) {
    auto problems = std::make_unique<common::Problems>(context.report_problem);
    auto spool_writer = TRY(common::SpoolWriter::open(
        context.loop, context.log, daemon_config.config.spool, static_cast<std::uint8_t>(context.instance()),
        problems->reporter("spool"), context.metrics, common::MailSource::smtp));
    std::unique_ptr<Smtpd> smtpd(
        new Smtpd(context, daemon_config.config, std::move(problems), std::move(spool_writer)));
    smtpd->reconfigure(std::move(daemon_config));
    return smtpd;
}

Smtpd::Smtpd(common::DaemonContext& context, const config::Config& config, std::unique_ptr<common::Problems> problems,
             std::unique_ptr<common::SpoolWriter> spool_writer)
    : context_(context), log_(context.log), problems_(std::move(problems)), deadlines_(context.loop),
      spool_writer_(std::move(spool_writer)),
      keys_(log_, spool_writer_->pool(), config.idempotency, config.spool.directory,
            static_cast<std::uint8_t>(context.instance())),
      checker_(context.loop, log_, context.run_directory, context.identity),
      verifier_(context.loop, log_, context.run_directory, context.identity),
      submission_queue_(context.loop, log_, context.run_directory, context.identity, spool_writer_->reusable_files()),
      worker_{context.loop,      log_,
              deadlines_,        *spool_writer_,
              checker_,          verifier_,
              submission_queue_, keys_,
              context.metrics,   std::make_shared<dns::Resolver>(context.loop, config.dns),
              context.instance()},
      sessions_(worker_, [this] { stopped_if_done(); }),
      stop_timeout_(context.loop, [this] { sessions_.shut_down(When::now); }) {
    spool_writer_->on_scarcity([this] { sessions_.free_memory(); });
    spool_writer_->on_status_change([this](const std::string& obstacle) { submission_queue_.report_status(obstacle); });
    submission_queue_.on_acceptance([this](const proto::submission::Acceptance& acceptance) {
        spool_writer_->refuse(acceptance.obstacle);
        sessions_.admit_none(acceptance.drained);
    });
}

Smtpd::~Smtpd() = default;

std::shared_ptr<const auth::PasswordFile> Smtpd::read_passwords(const common::DaemonConfig& daemon_config) {
    auto file = auth::PasswordFile::parse(daemon_config.secrets_as<proto::secrets::Server>().passwords);
    const auto& path = daemon_config.config.auth.passwords;
    problems_->set("passwords", file ? "" : path + ": " + file.error().why);
    if (file) return std::make_shared<const auth::PasswordFile>(*std::move(file));
    log_.error("authentication is not available: {}: {}", path, file.error().why);
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
            without_tls +=
                (without_tls.empty() ? "" : "; ") + ("no TLS on " + handed.address + ": " + tls.error().what);
        }
        listening_socket.rules = make_rules(
            settings, *listener,
            {tls ? *std::move(tls) : nullptr, passwords, daemon_config.secrets_as<proto::secrets::Server>().pepper});
        if (!listening_socket.acceptor)
            listening_socket.acceptor = Acceptor::create(
                context_.loop, std::move(handed.fd),
                [this, key = handed.name + " " + handed.address](common::Fd socket, const common::Endpoint& from) {
                    if (const auto at = listening_sockets_.find(key); at != listening_sockets_.end())
                        sessions_.accepted(at->second.rules, std::move(socket), from);
                },
                [this](int error) { log_.warning("cannot accept connections: {}", std::strerror(error)); });
        if (listening_socket.acceptor)
            listening_socket.acceptor->set_busy(listening_socket.rules->busy_reply);
        else
            log_.error("cannot listen on {}", handed.address);
    }
    listening_sockets_ = std::move(new_sockets);
    std::optional<std::size_t> limit;
    for (const auto& [key, listening_socket] : listening_sockets_)
        limit = std::min<std::size_t>(limit.value_or(listening_socket.rules->listener.sessions),
                                      listening_socket.rules->listener.sessions);
    sessions_.set_limit(limit);
    problems_->set("TLS", without_tls);
    worker_.resolver = std::make_shared<dns::Resolver>(context_.loop, config.dns);
    worker_.policy_sources =
        make_policy_sources(context_.loop, log_, config.policies, config.content, problems_->new_reporter("advisers"));
    worker_.policy_sources->canonical = common::CanonicalTables::configured(
        context_.loop, log_, config.addresses.canonical, config.tables, tables::maps_socket(config.spool.directory),
        common::rewriting_settings(config.domain_classes(), config.mta.origin, config.local.recipient_delimiter,
                                   decide::RewritingSettings::Extension::added_to_result));
    configure_access(config);
    configure_client_tests(config);
    spool_writer_->reconfigure(config.spool);
    keys_.reconfigure(config.idempotency);
    keys_.share(config.fleet, {context_.loop, log_, context_.run_directory, context_.identity}, context_.metrics);
    checker_.clear_cache();
    verifier_.set_wait(config.verify.wait);
    worker_.lockouts.clear();
    worker_.door->set_rate(config.history.enabled ? config.history.door_events_per_second : 0);
}

void Smtpd::configure_access(const config::Config& config) {
    auto& access = worker_.policy_sources->access;
    for (const auto& listener : config.listeners)
        if (const auto* rules = config::access_rules_for(config.access, listener)) {
            auto& made = access.rules[listener.name];
            made = config::rule_set(*rules, config.access_classes, config.local.recipient_delimiter);
            made.verification = config.verify.replies;
            made.sender_login_tables = config.auth.sender_login_tables;
        }
    const auto& tests = config.client_tests;
    const bool has_tables = !config.relay.client_certificates.empty() || config.domain_classes().has_tables() ||
                            (tests.enabled && !tests.tables.empty());
    if (access.rules.empty() && !has_tables) return;
    access.policy_services = config::policy_services_in(config.access, config.access_classes);
    access.lookups = std::make_shared<common::AccessLookups>(context_.loop, log_, worker_.resolver, config.tables,
                                                             tables::maps_socket(config.spool.directory));
}

// The first worker keeps the memory. It stays when a reload turns the tests off: a process opens such a store once.
void Smtpd::configure_client_tests(const config::Config& config) {
    const auto& tests = config.client_tests;
    if (tests.enabled && !worker_.client_memory) {
        worker_.client_memory = std::make_unique<ClientMemory>(
            context_.loop, log_, spool_writer_->pool(),
            ClientMemory::Place{config::ClientTests::directory(config.spool.directory), tests.max_size,
                                context_.instance() == common::first_smtpd_slot},
            problems_->new_reporter("memory of clients"));
        worker_.client_memory->begin();
    }
}

void Smtpd::update_gauges(common::Metrics& metrics) {
    metrics.set(common::MetricId::sessions_open, static_cast<std::int64_t>(sessions_.count()));
    metrics.set(common::MetricId::listeners, std::ranges::count_if(listening_sockets_, [](const auto& each) {
                    return each.second.acceptor != nullptr;
                }));
    if (spool_writer_)
        metrics.set(common::MetricId::content_memory, static_cast<std::int64_t>(spool_writer_->memory().held()));
}

void Smtpd::stop(smtp::Duration within, std::function<void()> done) {
    stopped_ = std::move(done);
    if (worker_.client_memory) worker_.client_memory->write_rest();
    listening_sockets_.clear();
    sessions_.stop_admitting();
    submission_queue_.on_empty([this] { stopped_if_done(); });
    stop_timeout_.start(within * 3 / 4);
    sessions_.shut_down(When::after_transaction);
    stopped_if_done();
}

void Smtpd::stopped_if_done() {
    if (!stopped_ || sessions_.count() > 0 || submission_queue_.waiting() > 0) return;
    if (const auto done = std::exchange(stopped_, {})) done();
}

} // namespace smtpd

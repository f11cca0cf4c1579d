#include "daemons/smtp-client/smtp_client.h"
#include "daemons/common/config/config.h"
#include "daemons/common/crypto/tls/context.h"
#include "daemons/common/process/privileges.h"
#include "daemons/common/rewriting/rewriting_settings.h"
#include "daemons/common/runtime/read_file.h"
#include <algorithm>

namespace smtp_client {

using namespace proto::delivery;

namespace {
// Numbers of deliveries are assigned by the queue-manager; those we assign ourselves have this bit.
constexpr std::uint64_t own_number_bit = std::uint64_t{1} << 63;

ProbeResult stopped_probe(std::uint64_t attempt) {
    ProbeResult out{attempt, Outcome::deferred, {}, ""};
    out.reason.text = "the delivery agent stopped before it was done: try again";
    return out;
}

// More than are in use at the highest rates; connections need most descriptors.
std::size_t most_kept_files() { return std::min<std::uint64_t>(1024, common::raise_descriptor_limit() / 4); }

bool keeps_dialogue(const config::Config& config) {
    return config.history.enabled && config.history.dialogue == config::RecordedDialogue::failures;
}
} // namespace

spool::Result<std::unique_ptr<SmtpClient>> SmtpClient::create(common::DaemonContext& context,
                                                              common::DaemonConfig daemon_config) {
    auto disk = TRY(spool::RealDisk::open_at(daemon_config.config.spool.directory));
    return std::make_unique<SmtpClient>(context, std::move(disk), daemon_config);
}

SmtpClient::SmtpClient(common::DaemonContext& context, std::unique_ptr<spool::RealDisk> disk,
                       const common::DaemonConfig& daemon_config)
    : context_(context), disk_(std::move(disk)), deadlines_(context.loop), dns_(daemon_config.config.dns),
      client_context_{context.loop,
                      context.log,
                      deadlines_,
                      {*disk_, most_kept_files()},
                      context.instance(),
                      daemon_config.config.smtp_client,
                      std::make_shared<dns::Resolver>(context.loop, daemon_config.config.dns),
                      {},
                      std::mt19937(std::random_device{}()),
                      0},
      cleanup_hook_(context.loop,
                    [this] {
                        closed_connections_.clear();
                        finished_probes_.clear();
                        stopped_if_done();
                    }),
      queue_manager_(context.loop, context.log, context.run_directory + "/private/queue-manager", conversation,
                     context.identity,
                     {[this](Message&& message) { on_message(std::move(message)); }, [this] { on_connected(); },
                      [this](const std::string&) { on_disconnected(); }, [this] { to_queue_manager_.drained(); }}),
      to_queue_manager_(queue_manager_, [this] {
          context_.log.error("a message to the queue-manager is too long for a frame and was dropped");
      }) {
    client_context_.connect_to = daemon_config.config.testing.connect_to;
    client_context_.listeners = daemon_config.config.listeners;
    client_context_.soft_bounce = daemon_config.config.bounce.soft_bounce;
    client_context_.keeps_dialogue = keeps_dialogue(daemon_config.config);
    client_context_.metrics = &context.metrics;
    client_context_.auth = AuthContext(context.request_token, context.report_problem);
    configure_tls(daemon_config);
    configure_accounts(daemon_config);
    configure_pools(daemon_config.config);
    configure_signing(daemon_config);
    configure_generic(daemon_config.config);
    configure_rules(daemon_config.config);
    configure_reports(daemon_config.config);
}

void SmtpClient::configure_pools(const config::Config& config) {
    client_context_.pools.clear(); // connections under way keep theirs
    for (const auto& pool : config.pools)
        client_context_.pools.emplace(pool.name, std::make_shared<const config::Pool>(pool));
}

// Deliveries under way keep the tables' names that they have.
void SmtpClient::configure_generic(const config::Config& config) {
    GenericMaps::Settings settings;
    settings.tables = config.addresses.generic.tables;
    settings.routes = config.routes;
    settings.sections = config.tables;
    settings.maps_socket = tables::maps_socket(config.spool.directory);
    using Extension = decide::RewritingSettings::Extension;
    settings.rewriting = common::rewriting_settings(
        config.domain_classes(), config.mta.origin, config.local.recipient_delimiter,
        config.addresses.generic.propagate_extension ? Extension::added_to_result : Extension::dropped);
    auto& generic = client_context_.generic;
    if (!generic) {
        auto fresh = std::make_unique<GenericMaps>(context_.loop, context_.log);
        fresh->configure(std::move(settings));
        if (fresh->any()) generic = std::move(fresh);
    } else {
        generic->configure(std::move(settings));
    }
}

void SmtpClient::configure_rules(const config::Config& config) {
    const auto rules = std::make_shared<common::ContentRules>(common::outgoing_rules_of(config.smtp_client));
    rules->body_size = config.content.body_checks_size;
    client_context_.outgoing_rules = rules->empty() ? nullptr : rules;
    auto replies = common::ReplyPatterns::parse(config.smtp_client.reply_rules); // valid: it has been checked
    client_context_.reply_patterns =
        replies && !replies->empty() ? std::make_shared<const common::ReplyPatterns>(*std::move(replies)) : nullptr;
}

void SmtpClient::configure_signing(const common::DaemonConfig& daemon_config) {
    const auto& config = daemon_config.config;
    client_context_.signing = nullptr;
    if (!config.signing.empty())
        client_context_.signing =
            std::make_shared<const Signing>(config.signing, config.relay.networks, config.listeners,
                                            daemon_config.secrets_as<proto::secrets::Client>(), context_.log);
}

// What connections from now on know about TLS. Whatever is wrong with it, mail that can do without still goes.
void SmtpClient::configure_tls(const common::DaemonConfig& daemon_config) {
    const auto& config = daemon_config.config;
    const auto& settings = config.smtp_client;
    client_context_.tls_routes.reset();
    if (std::ranges::any_of(config.routes, [](auto& r) {
            return r.tls != decide::TlsLevel::by_default || r.certificates.certificates;
        }))
        client_context_.tls_routes.emplace(config.routes);

    tls::ClientOptions options;
    options.minimum =
        settings.tls_minimum_version == config::TlsVersion::tls_1_3 ? tls::Version::tls_1_3 : tls::Version::tls_1_2;
    options.ciphers = settings.tls_ciphers;
    if (!settings.tls_authorities.empty()) {
        auto text = common::read_file(settings.tls_authorities);
        if (text)
            options.authorities = *std::move(text);
        else
            context_.log.warning("smtp_client.tls_ca_file: {}; no server's certificate can be verified",
                                 text.error().what);
    }
    client_context_.resumptions = {}; // they know how certificates were judged before
    client_context_.tls_of_routes.clear();
    const auto shown = daemon_config.secrets_as<proto::secrets::Client>().shown;
    const auto own = std::ranges::find(shown, "", &proto::secrets::ShownCertificates::route);
    if (own != shown.end()) options.certificates = own->certificates;
    client_context_.tls = make_tls(options, "");
    for (const auto& each : shown) {
        if (each.route.empty()) continue;
        options.certificates = each.certificates;
        options.same_authorities = client_context_.tls.get();
        client_context_.tls_of_routes[each.route] = make_tls(options, each.route);
    }
    const bool dane =
        asks_dane(settings.tls) || std::ranges::any_of(config.routes, [](auto& r) { return asks_dane(r.tls); });
    if (dane && !client_context_.resolver->trusts_ad())
        context_.log.warning("smtp_client.tls: DANE is not available: it requires a validating name server "
                             "on this host (dns.servers), and dns.trust_ad");
}

// Null: it cannot be made, which is logged. `route`: the one that it is for; "" all others.
std::shared_ptr<const tls::Context> SmtpClient::make_tls(const tls::ClientOptions& options, std::string_view route) {
    auto made = tls::Context::client(options);
    if (made) return *std::move(made);
    context_.log.error("{}{}; mail that requires TLS waits, other mail is sent in plain text",
                       route.empty() ? "" : fmt::format("route.\"{}\": ", route), made.error().what);
    return nullptr;
}

// Established connections keep their account.
void SmtpClient::configure_accounts(const common::DaemonConfig& daemon_config) {
    auto read = auth::Credentials::parse(daemon_config.secrets_as<proto::secrets::Client>().credentials);
    if (!read) context_.log.error("smtp_client.credentials: {}", read.error().why); // master has read it, too
    client_context_.auth.use(std::make_shared<const auth::Credentials>(read ? *std::move(read) : auth::Credentials{}),
                             daemon_config.config.routes);
}

void SmtpClient::configure_reports(const config::Config& config) {
    client_context_.tls_reports_from = config.tls_reports.from;
    client_context_.tls_outcome = {};
    if (!config.tls_reports.enabled) return tls_results_.reset();
    if (!tls_results_) tls_results_.emplace(context_.loop, context_.log, context_.run_directory, context_.identity);
    client_context_.tls_outcome = [this](const decide::TlsOutcome& outcome) { tls_results_->add(outcome); };
}

void SmtpClient::reconfigure(common::DaemonConfig daemon_config) {
    client_context_.settings = daemon_config.config.smtp_client; // for connections from now on
    client_context_.connect_to = daemon_config.config.testing.connect_to;
    client_context_.listeners = daemon_config.config.listeners;
    client_context_.soft_bounce = daemon_config.config.bounce.soft_bounce;
    client_context_.keeps_dialogue = keeps_dialogue(daemon_config.config);
    configure_accounts(daemon_config);
    configure_pools(daemon_config.config);
    configure_reports(daemon_config.config);
    configure_signing(daemon_config);
    configure_generic(daemon_config.config);
    configure_rules(daemon_config.config);
    dns_ = daemon_config.config.dns;
    client_context_.resolver = std::make_shared<dns::Resolver>(context_.loop, dns_);
    configure_tls(daemon_config);
}

void SmtpClient::stop(smtp::Duration, std::function<void()> done) {
    stopped_ = std::move(done);
    for (const auto& [attempt, probe] : std::exchange(probes_, {})) to_queue_manager_.send(stopped_probe(attempt));
    // Closing may end a connection at once, which changes the map.
    std::vector<Connection*> open;
    for (auto& [number, connection] : connections_) open.push_back(connection.get());
    for (auto* connection : open) connection->close(Connection::NotStarted::drop);
    if (tls_results_) tls_results_->flush();
    stopped_if_done();
}

void SmtpClient::stopped_if_done() {
    if (stopped_ && connections_.empty() && orphaned_connections_.empty() && unacknowledged_.empty())
        std::exchange(stopped_, {})();
}

// --- messages from the queue-manager ---

void SmtpClient::on_message(Message&& message) {
    if (auto* connect = std::get_if<Connect>(&message)) {
        const auto number = connect->connection;
        if (stopped_) {
            Closed closed;
            closed.connection = number;
            to_queue_manager_.send(closed);
        } else if (auto [place, fresh] = connections_.try_emplace(number); fresh) {
            place->second = std::make_unique<Connection>(client_context_, static_cast<Connection::Owner&>(*this),
                                                         std::move(*connect));
        } else {
            queue_manager_.fail("duplicate connection number");
        }
    } else if (auto* deliver = std::get_if<Deliver>(&message)) {
        // To a connection that has just closed: Closed is under way and reports this one as not tried.
        const auto found = connections_.find(deliver->connection);
        if (found != connections_.end() && !stopped_) found->second->deliver(std::move(*deliver));
    } else if (auto* close = std::get_if<Close>(&message)) {
        if (auto found = connections_.find(close->connection); found != connections_.end()) found->second->close();
    } else if (auto* recall = std::get_if<Recall>(&message)) {
        return_deliveries(*recall);
    } else if (auto* cut = std::get_if<Cancel>(&message)) {
        return_deliveries(*cut);
    } else if (auto* permission = std::get_if<ConnectReply>(&message)) {
        if (auto found = connections_.find(permission->connection); found != connections_.end())
            found->second->permit(permission->granted ? Connection::Permit::yes : Connection::Permit::at_limit);
    } else if (auto* acknowledged = std::get_if<Acknowledged>(&message)) {
        unacknowledged_.erase(acknowledged->delivery);
        stopped_if_done();
    } else if (auto* order = std::get_if<Probe>(&message)) {
        begin(std::move(*order));
    } else if (auto* end = std::get_if<EndProbe>(&message)) {
        end_probe(end->attempt);
    } else {
        queue_manager_.fail("unexpected message: only agents may send it");
    }
}

void SmtpClient::return_deliveries(const Recall& recall) {
    const auto found = connections_.find(recall.connection);
    if (found == connections_.end()) return; // Closed is under way
    to_queue_manager_.send(Returned{recall.connection, found->second->recall()});
}

void SmtpClient::return_deliveries(const Cancel& cut) {
    const auto found = connections_.find(cut.connection);
    if (found == connections_.end()) return;
    const auto off = found->second->cut(cut.delivery);
    if (off == Connection::CutOff::yes) to_queue_manager_.send(Returned{cut.connection, {cut.delivery}});
    if (off == Connection::CutOff::too_late) to_queue_manager_.send(TooLateToCancel{cut.queue_id});
}

void SmtpClient::begin(Probe&& order) {
    const auto attempt = order.attempt;
    if (stopped_) {
        to_queue_manager_.send(stopped_probe(attempt));
        return;
    }
    auto probe = std::make_unique<DeliveryProbe>(
        client_context_, std::move(order),
        DeliveryProbe::Callbacks{[this](const ProbeStep& step) { to_queue_manager_.send(step); },
                                 [this, attempt](const ProbeResult& tried) {
                                     to_queue_manager_.send(tried);
                                     end_probe(attempt);
                                 }});
    if (!probes_.try_emplace(attempt, std::move(probe)).second) queue_manager_.fail("duplicate attempt number");
}

void SmtpClient::end_probe(std::uint64_t attempt) {
    auto node = probes_.extract(attempt);
    if (node.empty()) return; // its result and EndProbe have crossed
    finished_probes_.push_back(std::move(node.mapped()));
    cleanup_hook_.schedule();
}

// A new queue-manager, or the old one after a lost connection: results it may have missed are sent under numbers of
// ours, because its own may mean something else by now.
void SmtpClient::on_connected() {
    std::unordered_map<std::uint64_t, UnacknowledgedResult> again;
    for (auto& [number, kept] : unacknowledged_) {
        kept.done.connection = 0;
        kept.done.delivery = own_number_bit | ++last_own_number_;
        again.emplace(kept.done.delivery, std::move(kept));
    }
    unacknowledged_ = std::move(again);
    for (const auto& [number, kept] : unacknowledged_) send_result(number);
}

// A result for thousands of recipients with long replies goes in parts.
ipc::SendResult SmtpClient::send_result(std::uint64_t number) {
    using Step = ipc::OrderedSender<Message>::Step;
    return to_queue_manager_.send_parts([this, number, parts = std::optional<DoneParts>()]() mutable {
        const auto kept = unacknowledged_.find(number);
        if (kept == unacknowledged_.end()) return Step::done; // acknowledged: it was reported before
        if (!parts) parts.emplace(kept->second.done);
        static_cast<void>(to_queue_manager_.put(parts->next()));
        return parts->more() ? Step::more : Step::done;
    });
}

void SmtpClient::on_disconnected() {
    to_queue_manager_.lost();
    while (!probes_.empty()) end_probe(probes_.begin()->first);
    // Until a queue-manager has the result, no other process may take the message for undelivered.
    for (auto& [number, kept] : unacknowledged_)
        if (!kept.lock)
            if (auto lock = client_context_.messages.open(kept.done.queue_id, kept.file)) kept.lock = *std::move(lock);
    std::vector<Connection*> orphaned;
    for (auto& [number, connection] : connections_) {
        orphaned.push_back(connection.get());
        orphaned_connections_.push_back(std::move(connection));
    }
    connections_.clear();
    for (auto* connection : orphaned) connection->close(Connection::NotStarted::drop);
}

// --- callbacks from the connections ---

void SmtpClient::may_connect(Connection& connection, const std::string& address, bool in_parallel) {
    if (is_current(connection))
        to_queue_manager_.send(ConnectRequest{connection.number(), address, in_parallel});
    else
        connection.permit(Connection::Permit::at_limit); // it is not counted
}

void SmtpClient::released(Connection& connection, const std::string& address) {
    if (is_current(connection)) to_queue_manager_.send(AddressReleased{connection.number(), address});
}

void SmtpClient::connected(Connection& connection) {
    context_.metrics.count(common::MetricId::connections, common::ConnectionResult::made);
    if (is_current(connection))
        to_queue_manager_.send(Connected{connection.number(), connection.link(), connection.source()});
}

void SmtpClient::source_refused(Connection& connection, SourceRefused refused) {
    if (is_current(connection)) to_queue_manager_.send(refused);
}

void SmtpClient::source_taken(Connection& connection, SourceAccepted taken) {
    if (is_current(connection)) to_queue_manager_.send(taken);
}

void SmtpClient::done(Connection& connection, Done done, std::optional<spool::MessageReader> message) {
    UnacknowledgedResult kept{std::move(done), message ? message->file() : spool::FileHint(spool::Location::messages),
                              std::nullopt};
    if (!is_current(connection)) {
        kept.done.connection = 0;
        kept.done.delivery = own_number_bit | ++last_own_number_;
    }
    const auto number = kept.done.delivery;
    auto& its = unacknowledged_.insert_or_assign(number, std::move(kept)).first->second;
    if (send_result(number) != ipc::SendResult::yes) its.lock = std::move(message);
}

void SmtpClient::closed(Connection& connection, Closed closed) {
    if (closed.failed && !closed.was_up)
        context_.metrics.count(common::MetricId::connections, common::ConnectionResult::failed);
    if (is_current(connection)) {
        to_queue_manager_.send(closed);
        auto node = connections_.extract(connection.number());
        closed_connections_.push_back(std::move(node.mapped()));
    } else if (auto orphan = std::ranges::find(orphaned_connections_, &connection, &std::unique_ptr<Connection>::get);
               orphan != orphaned_connections_.end()) {
        closed_connections_.push_back(std::move(*orphan));
        orphaned_connections_.erase(orphan);
    }
    if (connections_.empty()) client_context_.messages.forget_last();
    cleanup_hook_.schedule();
}

bool SmtpClient::is_current(const Connection& connection) const {
    const auto found = connections_.find(connection.number());
    return found != connections_.end() && found->second.get() == &connection;
}

} // namespace smtp_client

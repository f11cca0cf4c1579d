#include "daemons/smtp-client/smtp_client.h"
#include "daemons/common/runtime/read_file.h"
#include "daemons/common/crypto/tls/context.h"
#include <algorithm>

namespace smtp_client {

using namespace proto::delivery;

namespace {
// Numbers of deliveries are the queue-manager's; those we give ourselves have this bit.
constexpr std::uint64_t own_number = std::uint64_t{1} << 63;

Tried gave_up(std::uint64_t attempt) {
    Tried out{attempt, Outcome::deferred, {}, ""};
    out.reason.text = "the delivery agent stopped before it was through: try again";
    return out;
}
} // namespace

spool::Result<std::unique_ptr<SmtpClient>> SmtpClient::create(common::Surroundings& surroundings,
                                                              common::Orders orders) {
    auto disk = TRY(spool::RealDisk::open_at(orders.config.spool.directory));
    return std::make_unique<SmtpClient>(surroundings, std::move(disk), orders);
}

SmtpClient::SmtpClient(common::Surroundings& surroundings, std::unique_ptr<spool::RealDisk> disk,
                       const common::Orders& orders)
    : surroundings_(surroundings), disk_(std::move(disk)), deadlines_(surroundings.loop), dns_(orders.config.dns),
      office_{surroundings.loop,
              surroundings.log,
              deadlines_,
              *disk_,
              surroundings.instance(),
              orders.config.smtp_client,
              std::make_shared<dns::Resolver>(surroundings.loop, orders.config.dns),
              {},
              std::mt19937(std::random_device{}()),
              0},
      bury_(surroundings.loop,
            [this] {
                gone_.clear();
                ended_trials_.clear();
                stopped_if_done();
            }),
      queue_manager_(surroundings.loop, surroundings.log, surroundings.run + "/private/queue-manager",
                     conversation, surroundings.identity,
                     {[this](Message&& message) { take(std::move(message)); }, [this] { up(); },
                      [this](const std::string&) { down(); }, [this] { say_.drained(); }}),
      say_(queue_manager_, [this] {
          surroundings_.log.error("a message to the queue-manager is too long for a frame and was left out");
      }) {
    office_.connect_to = orders.config.testing.connect_to;
    office_.listeners = orders.config.listeners;
    office_.soft_bounce = orders.config.bounce.soft_bounce;
    office_.figures = &surroundings.figures;
    office_.auth = AuthDesk(surroundings.ask_token, surroundings.trouble);
    settle_tls(orders.config);
    settle_accounts(orders);
    settle_pools(orders.config);
    settle_signing(orders);
    settle_reports(orders.config);
}

void SmtpClient::settle_pools(const config::Config& config) {
    office_.pools.clear(); // connections under way keep theirs
    for (const auto& pool : config.pools)
        office_.pools.emplace(pool.name, std::make_shared<const config::Pool>(pool));
}

void SmtpClient::settle_signing(const common::Orders& orders) {
    const auto& config = orders.config;
    office_.signing = config.signing.empty() ? nullptr
                                             : std::make_shared<const Signing>(
                                                   config, orders.secrets_as<proto::secrets::Client>(), surroundings_.log);
}

// What connections from now on know of TLS. Whatever is wrong with it, mail that does without still goes.
void SmtpClient::settle_tls(const config::Config& config) {
    const auto& settings = config.smtp_client;
    office_.tls_routes.reset();
    if (std::ranges::any_of(config.routes, [](auto& r) { return r.tls != decide::TlsLevel::by_default; }))
        office_.tls_routes.emplace(config.routes);

    tls::ClientOptions options;
    options.minimum = settings.tls_minimum_version == config::TlsVersion::tls_1_3 ? tls::Version::tls_1_3
                                                                                  : tls::Version::tls_1_2;
    options.ciphers = settings.tls_ciphers;
    if (!settings.tls_authorities.empty()) {
        auto text = common::read_file(settings.tls_authorities);
        if (text)
            options.authorities = *std::move(text);
        else
            surroundings_.log.warning("smtp_client.tls_authorities: {}; no server's certificate can be verified",
                                      text.error().what);
    }
    auto context = tls::Context::client(options);
    office_.resumptions = {}; // they know how certificates were judged before
    office_.tls = context ? *std::move(context) : nullptr;
    if (!context)
        surroundings_.log.error("{}; mail that requires TLS waits, other mail goes in plain text",
                                context.error().what);
    const bool dane = asks_dane(settings.tls) ||
                      std::ranges::any_of(config.routes, [](auto& r) { return asks_dane(r.tls); });
    if (dane && !office_.resolver->trusts_ad())
        surroundings_.log.warning("smtp_client.tls: DANE cannot be had: that needs a name server on this host "
                                  "(dns.servers) that validates, and dns.trust_ad");
}

// Connections that stand go on as who they are.
void SmtpClient::settle_accounts(const common::Orders& orders) {
    auto read = auth::Credentials::parse(orders.secrets_as<proto::secrets::Client>().credentials);
    if (!read) surroundings_.log.error("smtp_client.credentials: {}", read.error().why); // master has read it, too
    office_.auth.use(std::make_shared<const auth::Credentials>(read ? *std::move(read) : auth::Credentials{}),
                     orders.config.routes);
}

void SmtpClient::settle_reports(const config::Config& config) {
    office_.tls_reports_from = config.tls_reports.from;
    office_.tls_outcome = {};
    if (!config.tls_reports.enabled) return tls_results_.reset();
    if (!tls_results_)
        tls_results_.emplace(surroundings_.loop, surroundings_.log, surroundings_.run, surroundings_.identity);
    office_.tls_outcome = [this](const decide::TlsOutcome& outcome) { tls_results_->add(outcome); };
}

void SmtpClient::reconfigure(common::Orders orders) {
    office_.settings = orders.config.smtp_client; // for connections from now on
    office_.connect_to = orders.config.testing.connect_to;
    office_.listeners = orders.config.listeners;
    office_.soft_bounce = orders.config.bounce.soft_bounce;
    settle_accounts(orders);
    settle_pools(orders.config);
    settle_reports(orders.config);
    settle_signing(orders);
    dns_ = orders.config.dns;
    office_.resolver = std::make_shared<dns::Resolver>(surroundings_.loop, dns_);
    settle_tls(orders.config);
}

void SmtpClient::stop(smtp::Duration, std::function<void()> done) {
    stopped_ = std::move(done);
    for (const auto& [attempt, trial] : std::exchange(trials_, {})) say_.say(gave_up(attempt));
    // Closing may end a connection at once, which changes the map.
    std::vector<Connection*> open;
    for (auto& [number, connection] : connections_) open.push_back(connection.get());
    for (auto* connection : open) connection->close(Connection::Unbegun::drop);
    if (tls_results_) tls_results_->tell();
    stopped_if_done();
}

void SmtpClient::stopped_if_done() {
    if (stopped_ && connections_.empty() && orphans_.empty() && kept_.empty()) std::exchange(stopped_, {})();
}

// --- the queue-manager's word
// ---------------------------------------------------------------------------------

void SmtpClient::take(Message&& message) {
    if (auto* connect = std::get_if<Connect>(&message)) {
        const auto number = connect->connection;
        if (stopped_) {
            Closed closed;
            closed.connection = number;
            say_.say(closed);
        } else if (auto [place, fresh] = connections_.try_emplace(number); fresh) {
            place->second = std::make_unique<Connection>(office_, static_cast<Connection::Owner&>(*this),
                                                         std::move(*connect));
        } else {
            queue_manager_.fail("a connection's number given twice");
        }
    } else if (auto* deliver = std::get_if<Deliver>(&message)) {
        // To a connection that has just closed: Closed is under way and says that this was not tried.
        const auto found = connections_.find(deliver->connection);
        if (found != connections_.end() && !stopped_) found->second->deliver(std::move(*deliver));
    } else if (auto* close = std::get_if<Close>(&message)) {
        if (auto found = connections_.find(close->connection); found != connections_.end())
            found->second->close();
    } else if (auto* recall = std::get_if<Recall>(&message)) {
        give_back(*recall);
    } else if (auto* cut = std::get_if<Cut>(&message)) {
        give_back(*cut);
    } else if (auto* permission = std::get_if<Permission>(&message)) {
        if (auto found = connections_.find(permission->connection); found != connections_.end())
            found->second->permit(permission->granted ? Connection::Permit::yes
                                                      : Connection::Permit::crowded);
    } else if (auto* acknowledged = std::get_if<Acknowledged>(&message)) {
        kept_.erase(acknowledged->delivery);
        stopped_if_done();
    } else if (auto* order = std::get_if<Try>(&message)) {
        begin(std::move(*order));
    } else if (auto* end = std::get_if<EndTry>(&message)) {
        end_trial(end->attempt);
    } else {
        queue_manager_.fail("said what only an agent may say");
    }
}

void SmtpClient::give_back(const Recall& recall) {
    const auto found = connections_.find(recall.connection);
    if (found == connections_.end()) return; // Closed is under way
    say_.say(Returned{recall.connection, found->second->recall()});
}

void SmtpClient::give_back(const Cut& cut) {
    const auto found = connections_.find(cut.connection);
    if (found == connections_.end()) return;
    const auto off = found->second->cut(cut.delivery);
    if (off == Connection::CutOff::yes) say_.say(Returned{cut.connection, {cut.delivery}});
    if (off == Connection::CutOff::too_late) say_.say(PastStopping{cut.queue_id});
}

void SmtpClient::begin(Try&& order) {
    const auto attempt = order.attempt;
    if (stopped_) return say_.say(gave_up(attempt)), void();
    auto trial = std::make_unique<Trial>(
        office_, std::move(order),
        Trial::Callbacks{[this](const TryStep& step) { say_.say(step); },
                         [this, attempt](const Tried& tried) {
                             say_.say(tried);
                             end_trial(attempt);
                         }});
    if (!trials_.try_emplace(attempt, std::move(trial)).second)
        queue_manager_.fail("an attempt's number given twice");
}

void SmtpClient::end_trial(std::uint64_t attempt) {
    auto node = trials_.extract(attempt);
    if (node.empty()) return; // its last word and EndTry have met
    ended_trials_.push_back(std::move(node.mapped()));
    bury_.schedule();
}

// A new queue-manager, or the old one after a lost connection: what it may not know it is told under numbers
// of ours, for its own may mean something else by now.
void SmtpClient::up() {
    std::unordered_map<std::uint64_t, Kept> again;
    for (auto& [number, kept] : kept_) {
        kept.done.connection = 0;
        kept.done.delivery = own_number | ++handed_over_;
        again.emplace(kept.done.delivery, std::move(kept));
    }
    kept_ = std::move(again);
    for (const auto& [number, kept] : kept_) tell(number);
}

// A result for thousands of recipients with long replies goes in parts.
ipc::Sent SmtpClient::tell(std::uint64_t number) {
    using Step = ipc::InOrder<Message>::Step;
    return say_.say_parts([this, number, parts = std::optional<DoneParts>()]() mutable {
        const auto kept = kept_.find(number);
        if (kept == kept_.end()) return Step::done; // acknowledged: it was told before
        if (!parts) parts.emplace(kept->second.done);
        static_cast<void>(say_.put(parts->next()));
        return parts->more() ? Step::more : Step::done;
    });
}

void SmtpClient::down() {
    say_.lost();
    while (!trials_.empty()) end_trial(trials_.begin()->first);
    // Until somebody knows of the result, nobody else may take the message for undelivered.
    for (auto& [number, kept] : kept_)
        if (!kept.lock)
            if (auto lock = office_.messages.open(kept.done.queue_id, kept.location))
                kept.lock = *std::move(lock);
    std::vector<Connection*> orphaned;
    for (auto& [number, connection] : connections_) {
        orphaned.push_back(connection.get());
        orphans_.push_back(std::move(connection));
    }
    connections_.clear();
    for (auto* connection : orphaned) connection->close(Connection::Unbegun::drop);
}

// --- the connections' word
// ------------------------------------------------------------------------------------

void SmtpClient::may_connect(Connection& connection, const std::string& address, bool besides) {
    if (current(connection))
        say_.say(MayConnect{connection.number(), address, besides});
    else
        connection.permit(Connection::Permit::crowded); // nobody counts it
}

void SmtpClient::left(Connection& connection, const std::string& address) {
    if (current(connection)) say_.say(Left{connection.number(), address});
}

void SmtpClient::connected(Connection& connection) {
    surroundings_.figures.count(common::Family::connections, common::ConnectionResult::made);
    if (current(connection)) say_.say(Connected{connection.number(), connection.link(), connection.source()});
}

void SmtpClient::source_refused(Connection& connection, SourceRefused refused) {
    if (current(connection)) say_.say(refused);
}

void SmtpClient::source_taken(Connection& connection, SourceTaken taken) {
    if (current(connection)) say_.say(taken);
}

void SmtpClient::done(Connection& connection, Done done, std::optional<spool::MessageReader> message) {
    Kept kept{std::move(done), message ? message->location() : spool::Location::messages, std::nullopt};
    if (!current(connection)) {
        kept.done.connection = 0;
        kept.done.delivery = own_number | ++handed_over_;
    }
    const auto number = kept.done.delivery;
    auto& its = kept_.insert_or_assign(number, std::move(kept)).first->second;
    if (tell(number) != ipc::Sent::yes) its.lock = std::move(message);
}

void SmtpClient::closed(Connection& connection, Closed closed) {
    if (closed.failed && !closed.was_up)
        surroundings_.figures.count(common::Family::connections, common::ConnectionResult::failed);
    if (current(connection)) {
        say_.say(closed);
        auto node = connections_.extract(connection.number());
        gone_.push_back(std::move(node.mapped()));
    } else if (auto orphan = std::ranges::find(orphans_, &connection, &std::unique_ptr<Connection>::get);
               orphan != orphans_.end()) {
        gone_.push_back(std::move(*orphan));
        orphans_.erase(orphan);
    }
    if (connections_.empty()) office_.messages.rest();
    bury_.schedule();
}

bool SmtpClient::current(const Connection& connection) const {
    const auto found = connections_.find(connection.number());
    return found != connections_.end() && found->second.get() == &connection;
}

} // namespace smtp_client

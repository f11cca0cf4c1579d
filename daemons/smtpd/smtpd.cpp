#include "daemons/smtpd/smtpd.h"
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

spool::Result<std::unique_ptr<Smtpd>> Smtpd::create(common::Surroundings& surroundings,
                                                    common::Orders orders) {
    auto troubles = std::make_unique<common::Troubles>(surroundings.trouble);
    auto intake =
        TRY(common::Intake::open(surroundings.loop, surroundings.log, orders.config.spool,
                                 static_cast<std::uint8_t>(surroundings.instance()), troubles->about("spool"),
                                 surroundings.figures, common::Source::smtp));
    std::unique_ptr<Smtpd> smtpd(new Smtpd(surroundings, orders.config, std::move(troubles), std::move(intake)));
    smtpd->reconfigure(std::move(orders));
    return smtpd;
}

Smtpd::Smtpd(common::Surroundings& surroundings, const config::Config& config,
             std::unique_ptr<common::Troubles> troubles, std::unique_ptr<common::Intake> intake)
    : surroundings_(surroundings), log_(surroundings.log), troubles_(std::move(troubles)), deadlines_(surroundings.loop),
      intake_(std::move(intake)),
      keys_(log_, intake_->pool(), config, static_cast<std::uint8_t>(surroundings.instance())),
      checker_(surroundings.loop, log_, surroundings.run, surroundings.identity),
      outbox_(surroundings.loop, log_, surroundings.run, surroundings.identity),
      service_{surroundings.loop,
               log_,
               deadlines_,
               *intake_,
               checker_,
               outbox_,
               keys_,
               surroundings.figures,
               std::make_shared<dns::Resolver>(surroundings.loop, config.dns),
               surroundings.instance()},
      most_sessions_(raise_descriptors()), burial_(surroundings.loop, [this] { graveyard_.clear(); }),
      patience_(surroundings.loop, [this] { shut_down(When::now); }) {
    service_.gone = [this](Connection& connection) { gone(connection); };
    intake_->on_scarcity([this] { free_memory(); });
    intake_->on_standing([this](const std::string& obstacle) { outbox_.say_standing(obstacle); });
}

Smtpd::~Smtpd() = default;

std::shared_ptr<const auth::PasswordFile> Smtpd::read_passwords(const common::Orders& orders) {
    auto file = auth::PasswordFile::parse(orders.secrets_as<proto::secrets::Server>().passwords);
    const auto& path = orders.config.auth.passwords;
    troubles_->set("passwords", file ? "" : path + ": " + file.error().why);
    if (file) return std::make_shared<const auth::PasswordFile>(*std::move(file));
    log_.error("nobody can authenticate: {}: {}", path, file.error().why);
    return std::make_shared<const auth::PasswordFile>();
}

void Smtpd::reconfigure(common::Orders orders) {
    const auto config = std::make_shared<const config::Config>(orders.config);
    const auto passwords = read_passwords(orders);
    std::map<std::string, Entrance> entrances;
    std::string without_tls;
    for (auto& handed : orders.listeners) {
        const auto& listeners = config->listeners;
        const auto listener = std::ranges::find(listeners, handed.name, &config::Listener::name);
        if (listener == listeners.end()) continue;
        auto& entrance = entrances[handed.name + " " + handed.address];
        if (auto old = entrances_.extract(handed.name + " " + handed.address))
            entrance = std::move(old.mapped()); // and the descriptor in force with it
        auto tls = make_tls(*config, *listener, orders.secrets_as<proto::secrets::Server>());
        if (!tls) {
            log_.error("no TLS on {}: {}", handed.address, tls.error().what);
            without_tls += (without_tls.empty() ? "" : "; ") + ("no TLS on " + handed.address + ": " + tls.error().what);
        }
        entrance.rules = make_rules(
            config, *listener,
            {tls ? *std::move(tls) : nullptr, passwords, orders.secrets_as<proto::secrets::Server>().pepper});
        if (!entrance.acceptor)
            entrance.acceptor = Acceptor::create(
                surroundings_.loop, std::move(handed.fd),
                [this, key = handed.name + " " + handed.address](common::Fd socket,
                                                                 const common::Endpoint& from) {
                    if (const auto at = entrances_.find(key); at != entrances_.end())
                        accepted(at->second.rules, std::move(socket), from);
                },
                [this](int error) { log_.warning("cannot accept connections: {}", std::strerror(error)); });
        if (entrance.acceptor)
            entrance.acceptor->set_busy(entrance.rules->busy);
        else
            log_.error("cannot listen on {}", handed.address);
    }
    entrances_ = std::move(entrances);
    troubles_->set("TLS", without_tls);
    service_.resolver = std::make_shared<dns::Resolver>(surroundings_.loop, config->dns);
    service_.advisers = make_advisers(surroundings_.loop, log_, *config, troubles_->anew("advisers"));
    intake_->reconfigure(config->spool);
    keys_.reconfigure(*config);
    checker_.forget();
    service_.lockouts.lift_all();
}

void Smtpd::measure(common::Figures& figures) {
    figures.set(common::Family::sessions_open, static_cast<std::int64_t>(connections_.size()));
    if (intake_) figures.set(common::Family::content_memory, static_cast<std::int64_t>(intake_->memory().held()));
}

void Smtpd::gone(Connection& connection) {
    service_.visitors.left(connection.counted_for());
    graveyard_.push_back(std::move(*connection.place));
    connections_.erase(connection.place);
    burial_.schedule();
    look_at_stress();
    stopped_if_done();
}

// Above 80 % of the sessions the waiting gets shorter for everybody, until it is below 60 % again.
void Smtpd::look_at_stress() {
    if (entrances_.empty()) return;
    std::size_t most = most_sessions_;
    for (auto& [key, entrance] : entrances_)
        most = std::min<std::size_t>(most, entrance.rules->listener.sessions);
    const auto now = connections_.size();
    const bool stressed = service_.stressed ? now * 10 > most * 6 : now * 10 > most * 8;
    if (stressed == service_.stressed) return;
    service_.stressed = stressed;
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
    for (int n = 0; n < at_a_time && intake_->memory().level() >= spool::ContentMemory::Level::scarce; ++n) {
        Connection* largest = nullptr;
        std::size_t most = spool::ContentMemory::small;
        for (auto& connection : connections_)
            if (const auto held = connection->held_idly(now); held > most) {
                largest = connection.get();
                most = held;
            }
        if (!largest) return;
        log_.warning("memory is scarce: the session of {}, idle with {} bytes, gives way", largest->client().peer(), most);
        largest->give_way();
    }
}

void Smtpd::stop(smtp::Duration within, std::function<void()> done) {
    stopped_ = std::move(done);
    entrances_.clear();
    proxied_.clear();
    outbox_.on_empty([this] { stopped_if_done(); });
    patience_.start(within * 3 / 4);
    shut_down(When::after_transaction);
    stopped_if_done();
}

void Smtpd::shut_down(When when) {
    std::vector<Connection*> all; // one may leave the list while it is told
    for (auto& connection : connections_) all.push_back(connection.get());
    for (auto* connection : all) connection->shut_down(when);
}

void Smtpd::stopped_if_done() {
    if (!stopped_ || !connections_.empty() || outbox_.waiting() > 0) return;
    if (const auto done = std::exchange(stopped_, {})) done();
}

} // namespace smtpd

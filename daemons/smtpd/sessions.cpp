#include "daemons/smtpd/sessions.h"
#include "daemons/smtpd/session/session_metrics.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <sys/resource.h>
#include <sys/socket.h>
#include <utility>

namespace smtpd {

using namespace std::chrono_literals;

// As many descriptors as there may be; how many sessions they are enough for: some have files, too.
static std::size_t raise_descriptors() {
    constexpr std::size_t kept_back = 128; // logs, channels, name lookups, files being written
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 512;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    ::getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur > 2 * kept_back ? (limit.rlim_cur - kept_back) / 4 * 3 : limit.rlim_cur / 2;
}

Sessions::Sessions(WorkerContext& worker, std::function<void()> on_gone)
    : worker_(worker), on_gone_(std::move(on_gone)), max_sessions_(raise_descriptors()),
      cleanup_hook_(worker.loop, [this] { closed_connections_.clear(); }) {
    worker_.gone = [this](Connection& connection) { gone(connection); };
}

// --- admission

void Sessions::accepted(const std::shared_ptr<const Rules>& rules, common::Fd socket, const common::Endpoint& from) {
    const auto& balancers = rules->listener.proxy_networks;
    if (balancers.empty()) return admit(rules, std::move(socket), client_of(from));
    if (common::contains(balancers, from.address)) return await_proxy_header(rules, std::move(socket), from);
    reject_connection(*rules, std::move(socket), client_of(from),
                      {554, {5, 7, 1}, rules->normal.hostname + " Error: connect through the load balancer"});
}

void Sessions::await_proxy_header(const std::shared_ptr<const Rules>& rules, common::Fd socket,
                                  const common::Endpoint& balancer) {
    if (proxy_connections_.size() >= std::min<std::size_t>(rules->listener.sessions, max_sessions_))
        return reject_connection(*rules, std::move(socket), client_of(balancer), rules->busy_reply, "sessions");
    const auto place = proxy_connections_.insert(proxy_connections_.end(), nullptr);
    *place = ProxyConnection::create(
        worker_.loop, worker_.deadlines, std::move(socket), balancer, rules->config->smtpd.proxy_timeout,
        [this, rules, place](std::expected<common::ProxyHeader, smtp::Malformed> header) {
            const std::shared_ptr<ProxyConnection> over = std::move(*place);
            proxy_connections_.erase(place);
            worker_.loop.defer([over] {}); // it is the one that calls
            if (!header)
                return worker_.log.warning("no PROXY header from {}: {}", client_of(over->balancer()).peer(),
                                           header.error().why);
            auto client = client_of(header->addresses ? header->addresses->client : over->balancer());
            if (header->addresses) {
                client.server_address = header->addresses->server.address.to_string();
                client.server_port = header->addresses->server.port;
            }
            admit(rules, over->take_socket(), std::move(client));
        });
    if (!*place) proxy_connections_.erase(place);
}

void Sessions::admit(const std::shared_ptr<const Rules>& rules, common::Fd socket, Client client) {
    if (drained_)
        return reject_connection(
            *rules, std::move(socket), client,
            {421, {4, 3, 2}, rules->normal.hostname + " Error: this server takes no mail now, use another one"});
    const auto& limits = rules->listener.limits;
    const auto admission = worker_.client_limits.admit(
        client.network, {limits.sessions_per_network, limits.connections_per_minute}, common::Loop::now().monotonic);
    if (admission != ClientLimits::Admission::admitted)
        return reject_connection(*rules, std::move(socket), client, rules->rejection_reply(admission),
                                 key_of(admission), rules->limit_exceeded_text(admission, client.peer()));
    const auto network = client.network;
    const bool full = connections_.size() >= std::min<std::size_t>(rules->listener.sessions, max_sessions_);
    if (full && !make_room_for(*rules, client)) {
        worker_.client_limits.release(network);
        return reject_connection(*rules, std::move(socket), client, rules->busy_reply, "sessions");
    }
    auto connection = Connection::create(worker_, rules, std::move(socket), std::move(client));
    if (!connection) return worker_.client_limits.release(network);
    worker_.metrics.count(common::MetricId::sessions);
    connections_.push_front(std::move(connection));
    connections_.front()->place = connections_.begin();
    update_stress();
    connections_.front()->begin();
}

// Makes room for a few more than the one, because going through all sessions takes time and a flood brings many
// clients.
bool Sessions::make_room_for(const Rules& rules, const Client& newcomer) {
    std::vector<Connection*> all;
    std::vector<SessionInfo> sessions;
    all.reserve(connections_.size());
    sessions.reserve(connections_.size());
    for (const auto& connection : connections_) {
        all.push_back(connection.get());
        sessions.push_back(connection->session_info());
    }
    const auto now = common::Loop::now().monotonic;
    const auto leaving = sessions_to_evict(sessions, newcomer.network, 1 + all.size() / 128, now);
    for (const auto i : leaving) all[i]->evict();
    if (!leaving.empty() && now - last_eviction_log_ > 1s) {
        last_eviction_log_ = now;
        worker_.log.warning("all {} sessions are in use: closing idle ones of the networks with the most sessions",
                            rules.listener.sessions);
    }
    return connections_.size() < all.size();
}

// Always sends a reply.
void Sessions::reject_connection(const Rules& rules, common::Fd socket, const Client& client, const smtp::Reply& reply,
                                 std::string_view limit, std::string_view exceeded) {
    count_reject(worker_.metrics, smtp::Verb::connect, reply);
    worker_.door->record(limit.empty() ? DoorEvents::Kind::rejected : DoorEvents::Kind::limit_hit,
                         common::Loop::now().monotonic, [&](DoorEvents::Event& event) {
                             event.listener = rules.listener.name;
                             event.client_name = client.name;
                             event.client_address = client.address_text;
                             event.stage = smtp::lowered(name_of(smtp::Verb::connect));
                             event.code = static_cast<std::uint32_t>(reply.code);
                             event.status = reply.status.text();
                             event.text = reply.text;
                             event.rule = limit;
                         });
    std::string line;
    reply.append_to(line);
    static_cast<void>(::send(socket.number(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
    const auto now = common::Loop::now().monotonic;
    if (now - last_rejection_log_ < 100ms) return; // a flood must not fill the log
    last_rejection_log_ = now;
    if (!exceeded.empty()) return worker_.log.warning("{}", exceeded);
    worker_.log.info("NOQUEUE: reject: CONNECT from {}: {}; proto=SMTP", client.peer(), reply.line());
}

// --- eviction, end

void Sessions::gone(Connection& connection) {
    worker_.client_limits.release(connection.counted_network());
    closed_connections_.push_back(std::move(*connection.place));
    connections_.erase(connection.place);
    cleanup_hook_.schedule();
    update_stress();
    on_gone_();
}

// Above 80 % of the sessions timeouts get shorter for all clients, until it is below 60 % again.
void Sessions::update_stress() {
    if (!limit_) return;
    const auto most = std::min(max_sessions_, *limit_);
    const auto now = connections_.size();
    const bool stressed = worker_.stressed ? now * 10 > most * 6 : now * 10 > most * 8;
    if (stressed == worker_.stressed) return;
    worker_.stressed = stressed;
    if (stressed)
        worker_.log.warning("{} of {} sessions are in use: idle ones are closed sooner", now, most);
    else
        worker_.log.info("{} of {} sessions are in use: idle limits are back to normal", now, most);
    for (auto& connection : connections_) connection->stress_changed();
}

// Evicts the idle sessions that hold most of it, so that others need not wait until they time out.
void Sessions::free_memory() {
    constexpr int at_a_time = 16;
    const auto now = common::Loop::now().monotonic;
    for (int n = 0; n < at_a_time && worker_.spool_writer.memory().level() >= spool::ContentMemory::Level::scarce;
         ++n) {
        Connection* largest = nullptr;
        std::size_t most = spool::ContentMemory::small;
        for (auto& connection : connections_)
            if (const auto held = connection->idle_memory(now); held > most) {
                largest = connection.get();
                most = held;
            }
        if (!largest) return;
        worker_.log.warning("memory is scarce: closing the idle session of {}, which holds {} bytes",
                            largest->client().peer(), most);
        largest->evict();
    }
}

void Sessions::admit_none(bool drained) {
    if (std::exchange(drained_, drained) || !drained) return;
    shut_down(smtp::ServerSession::When::after_transaction);
}

void Sessions::shut_down(smtp::ServerSession::When when) {
    std::vector<Connection*> all; // one may leave the list during its shut_down()
    for (auto& connection : connections_) all.push_back(connection.get());
    for (auto* connection : all) connection->shut_down(when);
}

void Sessions::stop_admitting() {
    limit_.reset();
    proxy_connections_.clear();
}

} // namespace smtpd

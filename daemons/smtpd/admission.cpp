// How Smtpd lets clients in: behind a balancer's header where one is due, within what one network and all
// together may have; and who goes when a client comes whom there is no room for.
#include "daemons/smtpd/smtpd.h"
#include <algorithm>
#include <sys/socket.h>

namespace smtpd {

using namespace std::chrono_literals;

void Smtpd::accepted(const std::shared_ptr<const Rules>& rules, common::Fd socket,
                     const common::Endpoint& from) {
    const auto& balancers = rules->listener.proxy_networks;
    if (balancers.empty()) return admit(rules, std::move(socket), client_of(from));
    if (common::contains(balancers, from.address)) return await_proxy_header(rules, std::move(socket), from);
    reject_connection(std::move(socket), client_of(from),
              {554, {5, 7, 1}, rules->normal.hostname + " Error: connect through the load balancer"});
}

void Smtpd::await_proxy_header(const std::shared_ptr<const Rules>& rules, common::Fd socket,
                         const common::Endpoint& balancer) {
    if (proxy_connections_.size() >= std::min<std::size_t>(rules->listener.sessions, max_sessions_))
        return reject_connection(std::move(socket), client_of(balancer), rules->busy_reply);
    const auto place = proxy_connections_.insert(proxy_connections_.end(), nullptr);
    *place = ProxyConnection::create(
        context_.loop, deadlines_, std::move(socket), balancer, rules->config->smtpd.proxy_timeout,
        [this, rules, place](std::expected<common::ProxyHeader, smtp::Malformed> header) {
            const std::shared_ptr<ProxyConnection> over = std::move(*place);
            proxy_connections_.erase(place);
            context_.loop.defer([over] {}); // it is the one that calls
            if (!header)
                return log_.warning("no PROXY header from {}: {}", client_of(over->balancer()).peer(),
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

void Smtpd::admit(const std::shared_ptr<const Rules>& rules, common::Fd socket, Client client) {
    const auto& limits = rules->listener.limits;
    const auto admission = worker_.client_limits.admit(
        client.network, {limits.sessions_per_network, limits.connections_per_minute},
        common::Loop::now().monotonic);
    if (admission != ClientLimits::Admission::admitted)
        return reject_connection(std::move(socket), client, rules->rejection_reply(admission),
                         rules->limit_exceeded_text(admission, client.peer()));
    const auto network = client.network;
    const bool full =
        connections_.size() >= std::min<std::size_t>(rules->listener.sessions, max_sessions_);
    if (full && !make_room_for(*rules, client)) {
        worker_.client_limits.release(network);
        return reject_connection(std::move(socket), client, rules->busy_reply);
    }
    auto connection = Connection::create(worker_, rules, std::move(socket), std::move(client));
    if (!connection) return worker_.client_limits.release(network);
    worker_.metrics.count(common::MetricId::sessions);
    connections_.push_front(std::move(connection));
    connections_.front()->place = connections_.begin();
    update_stress();
    connections_.front()->begin();
}

// Some more than the one place, for looking through all sessions takes its time and a flood brings many.
bool Smtpd::make_room_for(const Rules& rules, const Client& newcomer) {
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
        log_.warning("all {} sessions are in use: closing idle ones of the networks with the most sessions",
                     rules.listener.sessions);
    }
    return connections_.size() < all.size();
}

// Never in silence.
void Smtpd::reject_connection(common::Fd socket, const Client& client, const smtp::Reply& reply, std::string_view limit) {
    count_reject(worker_.metrics, smtp::Verb::connect, reply);
    std::string line;
    reply.append_to(line);
    static_cast<void>(::send(socket.number(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
    const auto now = common::Loop::now().monotonic;
    if (now - last_rejection_log_ < 100ms) return; // a flood must not fill the log
    last_rejection_log_ = now;
    if (!limit.empty()) return log_.warning("{}", limit);
    log_.info("NOQUEUE: reject: CONNECT from {}: {}; proto=SMTP", client.peer(), reply.line());
}

} // namespace smtpd

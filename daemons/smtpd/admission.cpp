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
    if (common::contains(balancers, from.address)) return await_header(rules, std::move(socket), from);
    turn_away(std::move(socket), client_of(from),
              {554, {5, 7, 1}, rules->normal.hostname + " Error: clients come by way of the load balancer here"});
}

void Smtpd::await_header(const std::shared_ptr<const Rules>& rules, common::Fd socket,
                         const common::Endpoint& balancer) {
    if (proxied_.size() >= std::min<std::size_t>(rules->listener.sessions, most_sessions_))
        return turn_away(std::move(socket), client_of(balancer), rules->busy);
    const auto place = proxied_.insert(proxied_.end(), nullptr);
    *place = Proxied::create(
        surroundings_.loop, deadlines_, std::move(socket), balancer, rules->config->smtpd.proxy_timeout,
        [this, rules, place](std::expected<common::ProxyHeader, smtp::Malformed> header) {
            const std::shared_ptr<Proxied> over = std::move(*place);
            proxied_.erase(place);
            surroundings_.loop.later([over] {}); // it is the one that calls
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
    if (!*place) proxied_.erase(place);
}

void Smtpd::admit(const std::shared_ptr<const Rules>& rules, common::Fd socket, Client client) {
    const auto& limits = rules->listener.limits;
    const auto entry = service_.visitors.arrived(
        client.network, {limits.sessions_per_network, limits.connections_per_minute},
        common::Loop::now().monotonic);
    if (entry != Visitors::Entry::welcome)
        return turn_away(std::move(socket), client, rules->turned_away(entry),
                         rules->exceeded(entry, client.peer()));
    const auto network = client.network;
    const bool full =
        connections_.size() >= std::min<std::size_t>(rules->listener.sessions, most_sessions_);
    if (full && !make_room(*rules, client)) {
        service_.visitors.left(network);
        return turn_away(std::move(socket), client, rules->busy);
    }
    auto connection = Connection::create(service_, rules, std::move(socket), std::move(client));
    if (!connection) return service_.visitors.left(network);
    service_.figures.count(common::Family::sessions);
    connections_.push_front(std::move(connection));
    connections_.front()->place = connections_.begin();
    look_at_stress();
    connections_.front()->begin();
}

// Some more than the one place, for looking through all sessions takes its time and a flood brings many.
bool Smtpd::make_room(const Rules& rules, const Client& newcomer) {
    std::vector<Connection*> all;
    std::vector<Occupant> occupants;
    all.reserve(connections_.size());
    occupants.reserve(connections_.size());
    for (const auto& connection : connections_) {
        all.push_back(connection.get());
        occupants.push_back(connection->occupant());
    }
    const auto now = common::Loop::now().monotonic;
    const auto leaving = who_gives_way(occupants, newcomer.network, 1 + all.size() / 128, now);
    for (const auto i : leaving) all[i]->give_way();
    if (!leaving.empty() && now - told_of_room_ > 1s) {
        told_of_room_ = now;
        log_.warning("all {} sessions are in use: idle ones of the networks with most of them give way",
                     rules.listener.sessions);
    }
    return connections_.size() < all.size();
}

// Never in silence.
void Smtpd::turn_away(common::Fd socket, const Client& client, const smtp::Reply& reply, std::string_view limit) {
    count_reject(service_.figures, smtp::Verb::connect, reply);
    std::string line;
    reply.append_to(line);
    static_cast<void>(::send(socket.number(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
    const auto now = common::Loop::now().monotonic;
    if (now - told_ < 100ms) return; // a flood must not fill the log
    told_ = now;
    if (!limit.empty()) return log_.warning("{}", limit);
    log_.info("NOQUEUE: reject: CONNECT from {}: {}; proto=SMTP", client.peer(), reply.line());
}

} // namespace smtpd

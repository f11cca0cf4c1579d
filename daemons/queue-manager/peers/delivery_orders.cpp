#include "daemons/queue-manager/peers/delivery_orders.h"
#include "daemons/common/config/config.h"
#include "daemons/common/runtime/crash_point.h"
#include "daemons/decide/hosts/mx.h"
#include "daemons/decide/queue/failure_mapping.h"
#include "daemons/decide/routing/route_name.h"
#include <algorithm>
#include <utility>

namespace queue_manager {

void DeliveryOrders::open(const decide::queue::OpenConnection& action, smtp::Now now) {
    const std::string name(action.link);
    const auto& links = deps_.router.links();
    const auto link = links.find(name);
    auto connect = connect_to(name, link != links.end() ? link->second : LinkHosts(), now);
    if (!action.domain.empty())
        connect.rule = deps_.router.domains().rule_of(action.domain); // of its domain, not of the last one routed
    connect.connection = action.connection;
    if (deps_.agents.send(action.agent, connect) != ipc::SendResult::too_long) return;
    deps_.log.error("link {}: it has too many hosts for a delivery agent: {}", name, connect.hosts.size());
    deps_.driver.later([this, number = action.connection] { // as if it could not be made
        const decide::queue::Reason reason{"4.3.5", "the list of its hosts is too long", {}, {}};
        deps_.driver.tell([&](auto& engine, smtp::Now at, auto& out) {
            engine.closed(decide::queue::failed(number, false, {smtp::Stage::none, 0, reason.status}, reason), at, out);
        });
    });
}

proto::delivery::Connect DeliveryOrders::connect_to(const std::string& link, const LinkHosts& hosts,
                                                    smtp::Now now) const {
    proto::delivery::Connect connect{
        .link = link, .mx = hosts.mx, .hosts = hosts.hosts, .replies = replies_by(hosts.rule), .rule = hosts.rule};
    connect.pool = decide::pool_of_link(link);
    for (const auto& rest : deps_.resting.of(link, now)) connect.resting.push_back(rest.source);
    return connect;
}

// What the route with that pattern says about replies.
std::vector<std::string> DeliveryOrders::replies_by(std::string_view rule) const {
    std::vector<std::string> out;
    if (rule.empty()) return out;
    const auto& routes = deps_.config->routes;
    const auto route = std::ranges::find(routes, rule, &decide::RouteRule::pattern);
    if (route != routes.end())
        for (const auto& each : route->replies) out.push_back(each.to_string());
    return out;
}

void DeliveryOrders::deliver(const decide::queue::Deliver& action, std::span<const std::uint32_t> numbers) {
    CRASH_POINT("queue-manager.deliver");
    const auto& domains = deps_.router.domains();
    const std::string rule(domains.rule_of(action.domain));
    const proto::delivery::Deliver order{action.connection,
                                         action.delivery,
                                         action.id,
                                         action.location,
                                         deps_.files.where(action.id, action.location).reused.value,
                                         {numbers.begin(), numbers.end()},
                                         to_wire(action.arrival),
                                         to_wire(action.queued),
                                         domains.sts_of(action.domain),
                                         action.secure,
                                         replies_by(rule),
                                         deps_.filters.has(action.domain),
                                         decide::is_route_name(rule) ? rule : std::string()};
    if (deps_.agents.send(action.agent, order) != ipc::SendResult::too_long) return;
    deps_.driver.later([this, order] { // as if the attempt had failed
        deps_.log.error("{}: too many recipients for one transaction: {}", order.queue_id.text(),
                        order.recipients.size());
        const decide::queue::Reason reason{"4.3.5", "too many recipients for one transaction", {}, {}};
        std::vector<decide::queue::Result> results;
        for (const auto number : order.recipients) {
            auto& result = results.emplace_back();
            result.number = number;
            result.outcome = decide::queue::Outcome::deferred;
            result.reason = &reason;
        }
        deps_.driver.tell([&](auto& engine, smtp::Now now, auto& out) {
            engine.done({order.connection, order.delivery, order.queue_id, results}, now, out);
        });
    });
}

void DeliveryOrders::close(const decide::queue::CloseConnection& action) {
    deps_.agents.send(action.agent, proto::delivery::Close{action.connection});
}

void DeliveryOrders::recall(const decide::queue::Recall& action) {
    deps_.agents.send(action.agent, proto::delivery::Recall{action.connection});
}

void DeliveryOrders::cancel(const decide::queue::CancelDelivery& action) {
    deps_.agents.send(action.agent, proto::delivery::Cancel{action.connection, action.delivery, action.id});
}

} // namespace queue_manager

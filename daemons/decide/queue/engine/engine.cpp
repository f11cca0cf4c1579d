#include "daemons/decide/queue/engine.h"
#include "daemons/decide/queue/engine/parts.h"
#include "daemons/decide/queue/inspection/explain.h"
#include "daemons/decide/queue/inspection/link_limits.h"
#include "daemons/decide/queue/inspection/link_listing.h"
#include "daemons/decide/queue/inspection/message_listing.h"
#include "daemons/decide/queue/inspection/unrouted.h"
#include <type_traits>

namespace decide::queue {

namespace {

template <class Parts, class F> auto handle(Parts& parts, smtp::Now now, Actions& out, F&& event) {
    parts.begin(now, out);
    if constexpr (std::is_void_v<decltype(event())>) {
        event();
        parts.end();
    } else {
        auto answer = event();
        parts.end();
        return answer;
    }
}

} // namespace

Engine::Engine(const Settings& settings, std::uint64_t seed, smtp::Now now)
    : parts_(std::make_unique<Parts>(settings, seed, now)) {}
Engine::~Engine() = default;

bool Engine::accepted(const Accepted& event, smtp::Now now, Actions& out) {
    return handle(*parts_, now, out, [&] { return parts_->intake.accepted(event); });
}
void Engine::categorized(const Categorized& event, smtp::Now now, Actions& out) {
    handle(*parts_, now, out, [&] { parts_->intake.categorized(event); });
}
void Engine::categorization_failed(spool::QueueId id, const Reason& why, smtp::Now now, Actions& out) {
    handle(*parts_, now, out, [&] { parts_->intake.categorization_failed(id, why); });
}
void Engine::routed(const Routed& event, smtp::Now now, Actions& out) {
    handle(*parts_, now, out, [&] { parts_->routes.routed(event); });
}
void Engine::suppression_changed(const SuppressionChanged& event, smtp::Now now, Actions& out) {
    handle(*parts_, now, out, [&] { parts_->suppression.changed(event); });
}
void Engine::suppressions_known(const SuppressionsKnown& event, smtp::Now now, Actions& out) {
    handle(*parts_, now, out, [&] { parts_->suppression.known(event); });
}
void Engine::fleet_changed(const FleetPresence& presence, smtp::Now now, Actions& out) {
    handle(*parts_, now, out, [&] { parts_->links.fleet_changed(presence); });
}
void Engine::tokens_granted(const TokensGranted& event, smtp::Now now, Actions& out) {
    handle(*parts_, now, out, [&] { parts_->links.tokens_granted(event); });
}
void Engine::agent_attached(AgentId agent, AgentKind kind, std::uint32_t capacity, smtp::Now now, Actions& out) {
    handle(*parts_, now, out, [&] { parts_->connections.attach_agent(agent, kind, capacity); });
}
void Engine::agent_gone(AgentId agent, AgentExit how, smtp::Now now, Actions& out) {
    handle(*parts_, now, out, [&] { parts_->results.agent_gone(agent, how); });
}
bool Engine::may_connect(ConnectionId connection, std::string_view address, AddressRequest request, smtp::Now now,
                         Actions& out) {
    return handle(*parts_, now, out, [&] {
        const Slot slot = parts_->connections.find(connection);
        return slot != none && parts_->addresses.may_connect(parts_->connections[slot], address, request);
    });
}
void Engine::left_address(ConnectionId connection, std::string_view address, smtp::Now now, Actions& out) {
    handle(*parts_, now, out, [&] {
        if (const Slot slot = parts_->connections.find(connection); slot != none)
            parts_->addresses.leave(parts_->connections[slot], address);
    });
}
void Engine::connected(ConnectionId connection, smtp::Now now, Actions& out) {
    handle(*parts_, now, out, [&] { parts_->results.connected(connection); });
}
void Engine::done(const Done& event, smtp::Now now, Actions& out) {
    handle(*parts_, now, out, [&] { parts_->results.done(event); });
}
void Engine::closed(const Closed& event, smtp::Now now, Actions& out) {
    handle(*parts_, now, out, [&] { parts_->results.closed(event); });
}
void Engine::returned(const Returned& event, smtp::Now now, Actions& out) {
    handle(*parts_, now, out, [&] { parts_->results.returned(event); });
}
bool Engine::cancel(spool::QueueId id, smtp::Now now, Actions& out) {
    return handle(*parts_, now, out, [&] { return parts_->operators.cancel(id); });
}
void Engine::reported(const Reported& event, smtp::Now now, Actions& out) {
    handle(*parts_, now, out, [&] {
        const auto answered = parts_->reporter.reported(event);
        if (answered.message == none) return;
        if (answered.deferred)
            parts_->ages.leave_incoming(answered.message);
        else
            parts_->placement.finish(answered.message);
    });
}
void Engine::service(Service which, Presence presence, smtp::Now now, Actions& out) {
    handle(*parts_, now, out, [&] {
        const bool up = presence == Presence::up;
        switch (which) {
        case Service::categorizer:
            parts_->services.categorizer = up;
            if (!up) parts_->intake.categorizer_gone();
            break;
        case Service::router:
            parts_->services.router = up;
            if (up)
                parts_->routes.router_back();
            else
                parts_->lookups.router_gone();
            break;
        case Service::bounce:
            parts_->services.bounce = up;
            if (!up) parts_->reporter.bounce_gone();
            break;
        }
    });
}
bool Engine::pause(Scope scope, std::string_view name, smtp::Now now, Actions& out) {
    return handle(*parts_, now, out, [&] { return parts_->operators.set_paused(scope, name, true); });
}
bool Engine::resume(Scope scope, std::string_view name, smtp::Now now, Actions& out) {
    return handle(*parts_, now, out, [&] { return parts_->operators.set_paused(scope, name, false); });
}
bool Engine::force(Scope scope, std::string_view name, smtp::Now now, Actions& out) {
    return handle(*parts_, now, out, [&] { return parts_->operators.force(scope, name); });
}
bool Engine::force(spool::QueueId id, smtp::Now now, Actions& out) {
    return handle(*parts_, now, out, [&] { return parts_->operators.force(id); });
}
bool Engine::hold(spool::QueueId id, smtp::Now now, Actions& out) {
    return handle(*parts_, now, out, [&] { return parts_->operators.hold(id); });
}
void Engine::agent_released(spool::QueueId id, smtp::Now now, Actions& out) {
    handle(*parts_, now, out, [&] { parts_->operators.agent_released(id); });
}
bool Engine::release(spool::QueueId id, smtp::Now now, Actions& out) {
    return handle(*parts_, now, out, [&] { return parts_->operators.release(id); });
}
bool Engine::expire(spool::QueueId id, smtp::Now now, Actions& out) {
    return handle(*parts_, now, out, [&] { return parts_->operators.expire(id); });
}
bool Engine::change_lane(spool::QueueId id, Lane lane, smtp::Now now, Actions& out) {
    return handle(*parts_, now, out, [&] { return parts_->operators.change_lane(id, lane); });
}
bool Engine::change_lifetime(spool::QueueId id, smtp::Duration lifetime, smtp::Now now, Actions& out) {
    return handle(*parts_, now, out, [&] { return parts_->operators.change_lifetime(id, lifetime); });
}
bool Engine::reschedule(spool::QueueId id, smtp::WallTime at, smtp::WallTime expiry, smtp::Now now, Actions& out) {
    return handle(*parts_, now, out, [&] { return parts_->operators.reschedule(id, at, expiry); });
}
bool Engine::requeue(spool::QueueId id, smtp::Now now, Actions& out, const RetryPolicy* policy) {
    return handle(*parts_, now, out, [&] { return parts_->operators.requeue(id, policy); });
}
bool Engine::forget(spool::QueueId id, smtp::Now now, Actions& out) {
    return handle(*parts_, now, out, [&] { return parts_->operators.forget(id); });
}
void Engine::configure(const Settings& settings, smtp::Now now, Actions& out) {
    handle(*parts_, now, out, [&] {
        parts_->settings = settings;
        parts_->operators.configure();
    });
}
void Engine::routes_changed(smtp::Now now, Actions& out) {
    handle(*parts_, now, out, [&] { parts_->operators.routes_changed(); });
}
void Engine::timer(smtp::Now now, Actions& out) {
    handle(*parts_, now, out, [&] { parts_->run_timers(); });
}
std::optional<smtp::Monotonic> Engine::next_timer() const { return parts_->next_timer(); }

Counts Engine::counts() const { return inspection::counts(parts_->view()); }
std::optional<MessageInfo> Engine::message(spool::QueueId id, smtp::Now, const RecipientRange& range) const {
    return inspection::message(parts_->view(), id, range);
}
std::optional<MessageInfo> Engine::next_message(std::uint32_t& cursor, smtp::Now) const {
    return inspection::next_message(parts_->view(), cursor);
}
std::vector<LinkInfo> Engine::links(smtp::Now, Ages ages) const { return inspection::links(parts_->view(), ages); }
std::vector<LinkInfo> Engine::links(smtp::Now, Ages ages, const BusiestFirst& part) const {
    return inspection::links(parts_->view(), ages, part);
}
std::optional<LinkInfo> Engine::link(std::string_view name, smtp::Now) const {
    return inspection::link(parts_->view(), name);
}
std::vector<LinkLimit> Engine::limits_of(std::string_view link) const {
    return inspection::limits_of(parts_->view(), link);
}
std::vector<LinkFailure> Engine::failures_of(std::string_view link) const {
    return inspection::failures_of(parts_->view(), link);
}
bool Engine::knows(Scope scope, std::string_view name) const { return parts_->queues.knows(scope, name); }
std::vector<QueueInfo> Engine::queues(smtp::Now, Ages ages) const { return inspection::queues(parts_->view(), ages); }
std::vector<QueueInfo> Engine::queues(std::string_view link, smtp::Now, const BusiestFirst& part) const {
    return inspection::queues(parts_->view(), link, part);
}
std::optional<QueueInfo> Engine::queue(std::string_view name, smtp::Now) const {
    return inspection::queue(parts_->view(), name);
}
std::optional<MessageInfo> Engine::oldest(smtp::Now) const { return inspection::oldest(parts_->view()); }
std::vector<MessageInfo> Engine::due_next(std::size_t at_most, smtp::Now) const {
    return inspection::due_next(parts_->view(), at_most);
}
std::vector<Rank> Engine::ranked(Order order, const std::optional<Rank>& behind, std::size_t at_most) const {
    return inspection::ranked(parts_->view(), order, behind, at_most);
}
std::optional<Engine::FlightFacts> Engine::in_flight(DeliveryId id) const {
    const Slot slot = parts_->deliveries.find(id, DeliveryState::active);
    if (slot == none) return {};
    const Delivery& delivery = parts_->deliveries[slot];
    const Queue& queue = parts_->queues[delivery.queue];
    return FlightFacts{queue.name, parts_->terms.rule(queue.rule).name, parts_->waits.of(delivery)};
}
std::optional<Rank> Engine::rank(spool::QueueId id, Order order) const {
    return inspection::rank(parts_->view(), id, order);
}
std::vector<Explanation> Engine::explain(spool::QueueId id, const RecipientRange& range) const {
    return inspection::explain(parts_->view(), id, range);
}
std::vector<Unrouted> Engine::unrouted(std::size_t at_most) const {
    return inspection::unrouted(parts_->view(), at_most);
}
std::vector<HealthSnapshot> Engine::health_snapshot() const { return inspection::health_snapshot(parts_->view()); }
void Engine::restore(const std::vector<HealthSnapshot>& all, smtp::Now now, Actions& out) {
    handle(*parts_, now, out, [&] {
        for (const HealthSnapshot& each : all) {
            parts_->snapshots.add(each);
            if (each.link && each.down) parts_->links.find_or_add(each.name, AgentKind::smtp, each.mx);
        }
    });
}
std::size_t Engine::bytes() const { return inspection::bytes(parts_->view()); }

} // namespace decide::queue

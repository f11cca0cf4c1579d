#include "daemons/decide/queue/engine.h"
#include "daemons/decide/queue/core.h"

namespace decide::queue {

namespace {

// Every event is told between enter() and leave().
template <class F> auto told(Core& core, smtp::Now now, Actions& out, F&& tell) {
    core.enter(now, out);
    if constexpr (std::is_void_v<decltype(tell())>) {
        tell();
        core.leave();
    } else {
        auto answer = tell();
        core.leave();
        return answer;
    }
}

} // namespace

Engine::Engine(const Settings& settings, std::uint64_t seed, smtp::Now now)
    : core_(std::make_unique<Core>(settings, seed, now)) {}
Engine::~Engine() = default;

bool Engine::accepted(const Accepted& event, smtp::Now now, Actions& out) {
    return told(*core_, now, out, [&] { return core_->accepted(event); });
}
void Engine::categorized(const Categorized& event, smtp::Now now, Actions& out) {
    told(*core_, now, out, [&] { core_->categorized(event); });
}
void Engine::categorization_failed(spool::QueueId id, const Reason& why, smtp::Now now, Actions& out) {
    told(*core_, now, out, [&] { core_->categorization_failed(id, why); });
}
void Engine::routed(const Routed& event, smtp::Now now, Actions& out) {
    told(*core_, now, out, [&] { core_->routed(event); });
}
void Engine::suppression_changed(const SuppressionChanged& event, smtp::Now now, Actions& out) {
    told(*core_, now, out, [&] { core_->suppression_changed(event); });
}
void Engine::suppressions_known(const SuppressionsKnown& event, smtp::Now now, Actions& out) {
    told(*core_, now, out, [&] { core_->suppressions_known(event); });
}
void Engine::agent_attached(AgentId agent, AgentKind kind, std::uint32_t capacity, smtp::Now now,
                            Actions& out) {
    told(*core_, now, out, [&] { core_->agent_attached(agent, kind, capacity); });
}
void Engine::agent_gone(AgentId agent, AgentExit how, smtp::Now now, Actions& out) {
    told(*core_, now, out, [&] { core_->agent_gone(agent, how); });
}
bool Engine::may_connect(ConnectionId connection, std::string_view address, AddressRequest request, smtp::Now now,
                         Actions& out) {
    return told(*core_, now, out, [&] { return core_->may_connect(connection, address, request); });
}
void Engine::left_address(ConnectionId connection, std::string_view address, smtp::Now now, Actions& out) {
    told(*core_, now, out, [&] { core_->left_address(connection, address); });
}
void Engine::connected(ConnectionId connection, smtp::Now now, Actions& out) {
    told(*core_, now, out, [&] { core_->connected(connection); });
}
void Engine::done(const Done& event, smtp::Now now, Actions& out) {
    told(*core_, now, out, [&] { core_->done(event); });
}
void Engine::closed(const Closed& event, smtp::Now now, Actions& out) {
    told(*core_, now, out, [&] { core_->closed(event); });
}
void Engine::returned(const Returned& event, smtp::Now now, Actions& out) {
    told(*core_, now, out, [&] { core_->returned(event); });
}
bool Engine::cancel(spool::QueueId id, smtp::Now now, Actions& out) {
    return told(*core_, now, out, [&] { return core_->cancel(id); });
}
void Engine::reported(const Reported& event, smtp::Now now, Actions& out) {
    told(*core_, now, out, [&] { core_->reported(event); });
}
void Engine::service(Service which, Presence presence, smtp::Now now, Actions& out) {
    told(*core_, now, out, [&] { core_->service(which, presence); });
}
bool Engine::pause(Scope scope, std::string_view name, smtp::Now now, Actions& out) {
    return told(*core_, now, out, [&] { return core_->pause(scope, name); });
}
bool Engine::resume(Scope scope, std::string_view name, smtp::Now now, Actions& out) {
    return told(*core_, now, out, [&] { return core_->resume(scope, name); });
}
bool Engine::force(Scope scope, std::string_view name, smtp::Now now, Actions& out) {
    return told(*core_, now, out, [&] { return core_->force(scope, name); });
}
bool Engine::force(spool::QueueId id, smtp::Now now, Actions& out) {
    return told(*core_, now, out, [&] { return core_->force(id); });
}
bool Engine::hold(spool::QueueId id, smtp::Now now, Actions& out) {
    return told(*core_, now, out, [&] { return core_->hold(id); });
}
void Engine::agent_released(spool::QueueId id, smtp::Now now, Actions& out) {
    told(*core_, now, out, [&] { core_->agent_released(id); });
}
bool Engine::release(spool::QueueId id, smtp::Now now, Actions& out) {
    return told(*core_, now, out, [&] { return core_->release(id); });
}
bool Engine::expire(spool::QueueId id, smtp::Now now, Actions& out) {
    return told(*core_, now, out, [&] { return core_->expire(id); });
}
bool Engine::change_lane(spool::QueueId id, Lane lane, smtp::Now now, Actions& out) {
    return told(*core_, now, out, [&] { return core_->change_lane(id, lane); });
}
bool Engine::change_lifetime(spool::QueueId id, smtp::Duration lifetime, smtp::Now now, Actions& out) {
    return told(*core_, now, out, [&] { return core_->change_lifetime(id, lifetime); });
}
bool Engine::requeue(spool::QueueId id, smtp::Now now, Actions& out, const RetryPolicy* policy) {
    return told(*core_, now, out, [&] { return core_->requeue(id, policy); });
}
bool Engine::forget(spool::QueueId id, smtp::Now now, Actions& out) {
    return told(*core_, now, out, [&] { return core_->forget(id); });
}
void Engine::configure(const Settings& settings, smtp::Now now, Actions& out) {
    told(*core_, now, out, [&] { core_->configure(settings); });
}
void Engine::routes_changed(smtp::Now now, Actions& out) {
    told(*core_, now, out, [&] { core_->routes_changed(); });
}
void Engine::timer(smtp::Now now, Actions& out) {
    told(*core_, now, out, [&] { core_->timer(); });
}
std::optional<smtp::Monotonic> Engine::next_timer() const { return core_->next_timer(); }

Counts Engine::counts() const { return core_->counts(); }
std::optional<MessageInfo> Engine::message(spool::QueueId id, smtp::Now now) const {
    return core_->message(id, now);
}
std::optional<MessageInfo> Engine::next_message(std::uint32_t& cursor, smtp::Now now) const {
    return core_->next_message(cursor, now);
}
std::vector<LinkInfo> Engine::links(smtp::Now now, Ages ages) const { return core_->links(now, ages); }
std::vector<LinkFailure> Engine::failures_of(std::string_view link) const { return core_->failures_of(link); }
bool Engine::knows(Scope scope, std::string_view name) const { return core_->knows(scope, name); }
std::vector<QueueInfo> Engine::queues(smtp::Now now, Ages ages) const { return core_->queues(now, ages); }
std::optional<MessageInfo> Engine::oldest(smtp::Now now) const { return core_->oldest(now); }
std::vector<MessageInfo> Engine::due_next(std::size_t at_most, smtp::Now now) const {
    return core_->due_next(at_most, now);
}
std::vector<Rank> Engine::ranked(Order order, const std::optional<Rank>& behind, std::size_t at_most) const {
    return core_->ranked(order, behind, at_most);
}
std::optional<Rank> Engine::rank(spool::QueueId id, Order order) const { return core_->rank(id, order); }
std::vector<Explanation> Engine::explain(spool::QueueId id) const { return core_->explain(id); }
std::vector<Unrouted> Engine::unrouted(std::size_t at_most) const { return core_->unrouted(at_most); }
std::vector<HealthSnapshot> Engine::health_snapshot() const { return core_->health_snapshot(); }
void Engine::restore(const std::vector<HealthSnapshot>& all, smtp::Now now, Actions& out) {
    told(*core_, now, out, [&] { core_->restore(all); });
}
std::size_t Engine::bytes() const { return core_->bytes(); }

} // namespace decide::queue

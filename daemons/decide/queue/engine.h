// The queue: which message goes where, when, over how many connections, and what becomes of it. All of its
// judgement and none of its doing: told what happened (events.h) and the time, it says what to do
// (actions.h). The same events at the same times with the same seed give the same actions. No clock, no disk,
// no sockets.
//
// Every call appends to `out`. Afterwards arm one timer for next_timer() and call timer() when it is due.
#pragma once
#include "daemons/decide/queue/actions.h"
#include "daemons/decide/queue/events.h"
#include "daemons/decide/queue/listing.h"
#include "daemons/decide/queue/settings.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace decide::queue {

class Engine {
public:
    Engine(const Settings& settings, std::uint64_t seed, smtp::Now now);
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    // A message known already is left as it is (taking over twice is harmless): false.
    bool accepted(const Accepted& event, smtp::Now now, Actions& out);
    void categorized(const Categorized& event, smtp::Now now, Actions& out);
    // The categorizer could not answer for this message (unreadable file …): asked again after
    // categorize_retry.
    void categorization_failed(spool::QueueId id, const Reason& why, smtp::Now now, Actions& out);
    void routed(const Routed& event, smtp::Now now, Actions& out);
    void suppression_changed(const SuppressionChanged& event, smtp::Now now, Actions& out);
    void suppressions_known(const SuppressionsKnown& event, smtp::Now now, Actions& out);

    // capacity: connections it takes. An id may be used again after agent_gone().
    void agent_attached(AgentId agent, AgentKind kind, std::uint32_t capacity, smtp::Now now, Actions& out);
    void agent_gone(AgentId agent, AgentExit how, smtp::Now now, Actions& out);
    // Asked before each address a connection tries: has it room for one more? Yes: the place is the
    // connection's until it leaves it, asks for another address instead, or is closed. No: its link waits in
    // line there, unless it was asked for besides others.
    bool may_connect(ConnectionId connection, std::string_view address, AddressRequest request, smtp::Now now,
                     Actions& out);
    void left_address(ConnectionId connection, std::string_view address, smtp::Now now, Actions& out);
    void connected(ConnectionId connection, smtp::Now now, Actions& out);
    // A delivery unknown here (repeated by an agent after our restart) is matched by queue id and numbers.
    void done(const Done& event, smtp::Now now, Actions& out);
    void closed(const Closed& event, smtp::Now now, Actions& out);
    void returned(const Returned& event, smtp::Now now, Actions& out);
    // What is in flight of it is to end (CancelDelivery), as far as agents can. False: nothing is in flight.
    bool cancel(spool::QueueId id, smtp::Now now, Actions& out);

    void reported(const Reported& event, smtp::Now now, Actions& out);
    // Services start out up. Down: what was asked is asked again when it is up; nothing is counted against
    // the mail.
    void service(Service which, Presence presence, smtp::Now now, Actions& out);

    // Gates. name: of the link or queue (""  for everything); it need not exist yet. False: it was so
    // already.
    bool pause(Scope scope, std::string_view name, smtp::Now now, Actions& out);
    bool resume(Scope scope, std::string_view name, smtp::Now now, Actions& out);
    // Try now, whatever the ladder says. False: no such thing.
    bool force(Scope scope, std::string_view name, smtp::Now now, Actions& out);
    bool force(spool::QueueId id, smtp::Now now, Actions& out);
    bool hold(spool::QueueId id, smtp::Now now, Actions& out);
    bool release(spool::QueueId id, smtp::Now now, Actions& out);
    void agent_released(spool::QueueId id, smtp::Now now, Actions& out); // Accepted::with_earlier_agent holds no more
    // The sender is told that it could not be delivered in time. False: no such message.
    bool expire(spool::QueueId id, smtp::Now now, Actions& out);
    // It expires when it is so old, counted from when it was first free to go. False: no such message.
    bool change_lifetime(spool::QueueId id, smtp::Duration lifetime, smtp::Now now, Actions& out);
    // False: no such message, or it is in that lane.
    bool change_lane(spool::QueueId id, Lane lane, smtp::Now now, Actions& out);
    // Asked about and routed anew, its ladder from the beginning, and by that policy from now on (null: as before);
    // what is in flight is left alone. False: no such message, or nothing of it waits.
    bool requeue(spool::QueueId id, smtp::Now now, Actions& out, const RetryPolicy* policy = nullptr);
    // Forget it (removed by the operator, quarantined as unreadable); what the file becomes is the driver's
    // affair.
    bool forget(spool::QueueId id, smtp::Now now, Actions& out);

    void configure(const Settings& settings, smtp::Now now, Actions& out);
    // Routes may have changed: every domain is asked for again when next needed.
    void routes_changed(smtp::Now now, Actions& out);

    void timer(smtp::Now now, Actions& out);
    std::optional<smtp::Monotonic> next_timer() const;

    // Listings. A cursor starts at 0 and is 0 again at the end; what changes meanwhile may be missed or seen.
    Counts counts() const;
    std::optional<MessageInfo> message(spool::QueueId id, smtp::Now now) const;
    std::optional<MessageInfo> next_message(std::uint32_t& cursor, smtp::Now now) const;
    std::vector<LinkInfo> links(smtp::Now now, Ages ages = Ages::no) const;
    // The last failed tries of a link, oldest first; none if it is not known.
    std::vector<LinkFailure> failures_of(std::string_view link) const;
    // Is there mail for it, or is something remembered of it? Everything: always.
    bool knows(Scope scope, std::string_view name) const;
    std::vector<QueueInfo> queues(smtp::Now now, Ages ages = Ages::no) const;
    std::optional<MessageInfo> oldest(smtp::Now now) const;
    // At most so many messages, the one that may be tried soonest first (overdue: the longest); none that is
    // held or whose queue, pool or link is paused. A pause of everything is not looked at. Looks at every
    // message.
    std::vector<MessageInfo> due_next(std::size_t at_most, smtp::Now now) const;
    // The first messages behind that rank, in that order; nothing: behind none. Looks at every message. A message's
    // rank; nothing: it is not known.
    std::vector<Rank> ranked(Order order, const std::optional<Rank>& behind, std::size_t at_most) const;
    std::optional<Rank> rank(spool::QueueId id, Order order) const;
    // What a clean stop must not forget, and a start is told before anything else.
    std::vector<HealthSnapshot> health_snapshot() const;
    void restore(const std::vector<HealthSnapshot>& all, smtp::Now now, Actions& out);
    // One for each delivery of the message; none if it is not known.
    std::vector<Explanation> explain(spool::QueueId id) const;
    // Mail without a link, by what it waits for: at most so many lines, what failed first, then the most mail; and of
    // the others one line for each gate. Looks at every queue, and at what waits to be asked about.
    std::vector<Unrouted> unrouted(std::size_t at_most) const;
    std::size_t bytes() const; // memory held for messages, queues, links

private:
    struct Parts; // engine/parts.h
    std::unique_ptr<Parts> parts_;
};

} // namespace decide::queue

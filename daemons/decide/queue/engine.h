// The queue: which message goes where, when, over how many connections, and with what result. It decides everything and
// does nothing: it is called with what happened (events.h) and the time, and returns what to do (actions.h). The same
// events at the same times with the same seed give the same actions. No clock, no disk, no sockets.
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

    // A known message is left as it is (taking it over twice is harmless): false.
    bool accepted(const Accepted& event, smtp::Now now, Actions& out);
    void categorized(const Categorized& event, smtp::Now now, Actions& out);
    // The categorizer could not answer for this message (unreadable file …): it is asked again after categorize_retry.
    void categorization_failed(spool::QueueId id, const Reason& why, smtp::Now now, Actions& out);
    void routed(const Routed& event, smtp::Now now, Actions& out);
    void suppression_changed(const SuppressionChanged& event, smtp::Now now, Actions& out);
    void suppressions_known(const SuppressionsKnown& event, smtp::Now now, Actions& out);

    void fleet_changed(const FleetPresence& presence, smtp::Now now, Actions& out);
    void tokens_granted(const TokensGranted& event, smtp::Now now, Actions& out);

    // capacity: connections it accepts. An id may be used again after agent_gone().
    void agent_attached(AgentId agent, AgentKind kind, std::uint32_t capacity, smtp::Now now, Actions& out);
    void agent_gone(AgentId agent, AgentExit how, smtp::Now now, Actions& out);
    // Called before each address a connection tries: is there room for one more? Yes: the place belongs to the
    // connection until it leaves the address, requests another one instead, or is closed. No: its link waits in line
    // there, unless the address was requested in addition to others.
    bool may_connect(ConnectionId connection, std::string_view address, AddressRequest request, smtp::Now now,
                     Actions& out);
    void left_address(ConnectionId connection, std::string_view address, smtp::Now now, Actions& out);
    void connected(ConnectionId connection, smtp::Now now, Actions& out);
    // A delivery unknown here (repeated by an agent after our restart) is matched by queue id and numbers.
    void done(const Done& event, smtp::Now now, Actions& out);
    void closed(const Closed& event, smtp::Now now, Actions& out);
    void returned(const Returned& event, smtp::Now now, Actions& out);
    // Deliveries of it in flight are to end (CancelDelivery), as far as agents can. False: nothing is in flight.
    bool cancel(spool::QueueId id, smtp::Now now, Actions& out);

    void reported(const Reported& event, smtp::Now now, Actions& out);
    // Services start out up. Down: open requests are repeated when it is up again; nothing is counted against the mail.
    void service(Service which, Presence presence, smtp::Now now, Actions& out);

    // Gates. name: of the link or queue ("" for everything); it need not exist yet. False: it already was in that
    // state.
    bool pause(Scope scope, std::string_view name, smtp::Now now, Actions& out);
    bool resume(Scope scope, std::string_view name, smtp::Now now, Actions& out);
    // Retry immediately, ignoring the retry schedule. False: it does not exist.
    bool force(Scope scope, std::string_view name, smtp::Now now, Actions& out);
    bool force(spool::QueueId id, smtp::Now now, Actions& out);
    bool hold(spool::QueueId id, smtp::Now now, Actions& out);
    bool release(spool::QueueId id, smtp::Now now, Actions& out);
    void agent_released(spool::QueueId id, smtp::Now now, Actions& out); // Accepted::with_earlier_agent holds no longer
    // The sender gets a report that it could not be delivered in time. False: no such message.
    bool expire(spool::QueueId id, smtp::Now now, Actions& out);
    // It expires at this age, counted from when it was first free to go. False: no such message.
    bool change_lifetime(spool::QueueId id, smtp::Duration lifetime, smtp::Now now, Actions& out);
    // It is sent at `at`; at or before now: its schedule ends. `expiry`: when it expires from now on; {}: as before.
    // False: no such message, something of it is in flight, nothing of it waits, or it was to be sent at once and has
    // no schedule.
    bool reschedule(spool::QueueId id, smtp::WallTime at, smtp::WallTime expiry, smtp::Now now, Actions& out);
    // False: no such message, or it is in that lane.
    bool change_lane(spool::QueueId id, Lane lane, smtp::Now now, Actions& out);
    // Categorized and routed again, on a fresh retry schedule, and under that policy from now on (null: as before);
    // what is in flight is left alone. False: no such message, or nothing of it waits.
    bool requeue(spool::QueueId id, smtp::Now now, Actions& out, const RetryPolicy* policy = nullptr);
    // Forget it (removed by the operator, quarantined as unreadable); its file is the driver's business.
    bool forget(spool::QueueId id, smtp::Now now, Actions& out);

    void configure(const Settings& settings, smtp::Now now, Actions& out);
    // Routes may have changed: every domain is looked up again when next needed.
    void routes_changed(smtp::Now now, Actions& out);

    void timer(smtp::Now now, Actions& out);
    std::optional<smtp::Monotonic> next_timer() const;

    // Of a delivery in flight, for history: which way it goes, and what kept it. Nothing: it is not known. The views
    // are good until the next call.
    struct FlightFacts {
        std::string_view queue, rule; // rule: the route's pattern; "" none
        GateWaits waits;
    };
    std::optional<FlightFacts> in_flight(DeliveryId delivery) const;

    // Listings. A cursor starts at 0 and is 0 again at the end; changes in the meantime may or may not be seen.
    Counts counts() const;
    // Its first delivery, whose state is the message's, and those of which a recipient is in `range`.
    std::optional<MessageInfo> message(spool::QueueId id, smtp::Now now, const RecipientRange& range = {}) const;
    std::optional<MessageInfo> next_message(std::uint32_t& cursor, smtp::Now now) const;
    std::vector<LinkInfo> links(smtp::Now now, Ages ages = Ages::no) const;
    std::vector<LinkInfo> links(smtp::Now now, Ages ages, const BusiestFirst& part) const;
    std::optional<LinkInfo> link(std::string_view name, smtp::Now now) const; // with ages
    // The last failed tries of a link, oldest first; none if it is not known.
    std::vector<LinkFailure> failures_of(std::string_view link) const;
    // In force for a link; none if it is not known.
    std::vector<LinkLimit> limits_of(std::string_view link) const;
    // Is there mail for it, or anything remembered about it? Everything: always.
    bool knows(Scope scope, std::string_view name) const;
    std::vector<QueueInfo> queues(smtp::Now now, Ages ages = Ages::no) const;
    // With ages. link: only its queues; "" all.
    std::vector<QueueInfo> queues(std::string_view link, smtp::Now now, const BusiestFirst& part) const;
    std::optional<QueueInfo> queue(std::string_view name, smtp::Now now) const; // with ages
    std::optional<MessageInfo> oldest(smtp::Now now) const;
    // The messages that may be tried soonest first (overdue: the longest), at most `at_most`; none that is held or
    // whose queue, pool or link is paused. A pause of everything is ignored. Scans every message.
    std::vector<MessageInfo> due_next(std::size_t at_most, smtp::Now now) const;
    // The first messages behind that rank, in that order; without a rank, from the beginning. Scans every message. A
    // message's rank; nothing: it is not known.
    std::vector<Rank> ranked(Order order, const std::optional<Rank>& behind, std::size_t at_most) const;
    std::optional<Rank> rank(spool::QueueId id, Order order) const;
    // State that must survive a clean stop, and is restored at startup before anything else.
    std::vector<HealthSnapshot> health_snapshot() const;
    void restore(const std::vector<HealthSnapshot>& all, smtp::Now now, Actions& out);
    // One for each delivery of the message that has a recipient in `range`; none if it is not known.
    std::vector<Explanation> explain(spool::QueueId id, const RecipientRange& range = {}) const;
    // Mail without a link, by what it waits for: at most `at_most` entries, failed ones first, then those with the most
    // mail; the others are summed up in one entry for each gate. Scans every queue, and all mail that waits for the
    // categorizer.
    std::vector<Unrouted> unrouted(std::size_t at_most) const;
    std::size_t bytes() const; // memory held for messages, queues, links

private:
    struct Parts; // engine/parts.h
    std::unique_ptr<Parts> parts_;
};

} // namespace decide::queue

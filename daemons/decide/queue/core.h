// The engine's inside: its state and the rules that work on it, one file per concern:
//   accept.cpp      messages come in, are categorized, become deliveries
//   deliveries.cpp  where a delivery waits; its recipients; the end of a message
//   routes.cpp      queues, their routes and links
//   dispatch.cpp    connections: how many, and what goes over them
//   addresses.cpp   how many connections one remote address may have
//   isolation.cpp   suspects: one at a time on an agent to itself
//   recall.cpp      deliveries that come back from their agent
//   results.cpp     what agents report of connections and deliveries
//   outcomes.cpp    a delivery's results, sorted by whose failure it is
//   link_state.cpp  links down and up, resets of routes
//   link_terms.cpp  what routes say of ladders, rates and limits; a link's numbers are its queues' strictest
//   policies.cpp    named retry policies: a message's own clock
//   health.cpp      glitch, retry, ready of links and queues
//   reports.cpp     telling senders
//   sweeper.cpp     expiry and delay notices, leaving incoming/
//   operator_commands.cpp  the operator's gates and force
//   suppressed.cpp  recipients that are to get no mail any more
//   listing.cpp     what can be seen
//   explain.cpp     why a delivery is still here
//   wait_reasons.cpp  the same in a few words; mail that waits without a link
// Knows time only as told by enter(); must not know any clock, disk or socket.
#pragma once
#include "daemons/decide/queue/containers/heap.h"
#include "daemons/decide/queue/ladder.h"
#include "daemons/decide/queue/listing.h"
#include "daemons/decide/queue/model.h"
#include <deque>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>

namespace decide::queue {

class Core {
public:
    Core(const Settings& settings, std::uint64_t seed, smtp::Now now);

    // Every event begins with enter() and ends with leave(): the clocks are looked at, and links that got
    // something to do are given their turn.
    void enter(smtp::Now now, Actions& out);
    void leave();

    bool accepted(const Accepted& event);
    void categorized(const Categorized& event);
    void categorization_failed(spool::QueueId id, const Reason& why);
    void routed(const Routed& event);
    void suppression_changed(const SuppressionChanged& event);
    void suppressions_known(const SuppressionsKnown& event);
    void agent_attached(AgentId agent, AgentKind kind, std::uint32_t capacity);
    void agent_gone(AgentId agent, AgentExit how);
    bool may_connect(ConnectionId connection, std::string_view address, AddressRequest request);
    void left_address(ConnectionId connection, std::string_view address);
    void connected(ConnectionId connection);
    void done(const Done& event);
    void closed(const Closed& event);
    void returned(const Returned& event);
    bool cancel(spool::QueueId id);
    void reported(const Reported& event);
    void service(Service which, Presence presence);
    bool pause(Scope scope, std::string_view name);
    bool resume(Scope scope, std::string_view name);
    bool force(Scope scope, std::string_view name);
    bool force(spool::QueueId id);
    bool hold(spool::QueueId id);
    bool release(spool::QueueId id);
    void agent_released(spool::QueueId id);
    bool expire(spool::QueueId id);
    std::vector<HealthSnapshot> health_snapshot() const;
    void restore(const std::vector<HealthSnapshot>& all);
    bool change_lane(spool::QueueId id, Lane lane);
    bool change_lifetime(spool::QueueId id, smtp::Duration lifetime);
    bool requeue(spool::QueueId id, const RetryPolicy* policy);
    bool forget(spool::QueueId id);
    void configure(const Settings& settings);
    void routes_changed();
    void timer();
    std::optional<smtp::Monotonic> next_timer() const;

    Counts counts() const;
    std::optional<MessageInfo> message(spool::QueueId id, smtp::Now now) const;
    std::optional<MessageInfo> next_message(std::uint32_t& cursor, smtp::Now now) const;
    std::vector<LinkInfo> links(smtp::Now now, Ages ages) const;
    std::vector<LinkFailure> failures_of(std::string_view link) const;
    bool knows(Scope scope, std::string_view name) const;
    std::vector<QueueInfo> queues(smtp::Now now, Ages ages) const;
    std::optional<MessageInfo> oldest(smtp::Now now) const;
    std::vector<MessageInfo> due_next(std::size_t at_most, smtp::Now now) const;
    std::optional<Rank> rank(spool::QueueId id, Order order) const;
    std::vector<Rank> ranked(Order order, const std::optional<Rank>& behind, std::size_t at_most) const;
    std::vector<Explanation> explain(spool::QueueId id) const;
    std::vector<Unrouted> unrouted(std::size_t at_most) const;
    std::size_t bytes() const;

private:
    using DeliveryList = List<Delivery, &Delivery::prev, &Delivery::next>;
    using MessageList = List<Message, &Message::time_prev, &Message::time_next>;

    // ---- time and output ----
    template <class A> void emit(A&& action) { out_->list.emplace_back(std::forward<A>(action)); }
    Seconds seconds(smtp::Monotonic t) const;
    smtp::WallTime wall_of(smtp::Monotonic t) const { return smtp::WallTime(t.time_since_epoch() + offset_); }
    smtp::Monotonic monotonic_of(smtp::WallTime t) const {
        return smtp::Monotonic(t.time_since_epoch() - offset_);
    }
    void clock_stepped(smtp::Duration by);
    std::uint32_t wall_seconds() const;

    // ---- accept.cpp ----
    smtp::Duration longest_wait() const;
    void await_categorizer(Slot delivery, End end);
    void leave_categorizer(Slot delivery); // which has it
    smtp::Duration lifetime_of(const Accepted& event) const;
    void pump_categorizer();
    void ask_categorizer(Slot delivery);
    void categorizer_answered();
    void categorizer_gone();
    void not_categorized(Slot delivery, const Reason& why); // that is nowhere else now
    Slot categorizing_delivery(Slot message) const;
    void ask_again(Slot delivery);
    void undecided(Slot message, RecipientNumber number, const Reason& reason);
    void apply_restored(Slot message, Slot delivery, std::span<const RestoredRecipient> restored, smtp::WallTime latest);
    RestoredRecipient restored_state(const Message& message, const Delivery& delivery, RecipientNumber number) const;
    void sort_recipients(Slot message, Slot first, const Categorized& event);
    void make_deliveries(Slot message, Slot spare);

    // ---- deliveries.cpp ----
    Slot find(spool::QueueId id) const { return messages_by_id_.find(id.value); }
    Slot new_delivery(Slot message);
    void free_delivery(Slot delivery);
    void place(Slot delivery, End end);                   // where it belongs: held, waiting or ready
    void take_out(Slot delivery);                         // of wherever it waits
    void count_waiting(const Delivery& delivery, int by); // 1: it enters the heap; -1: it leaves
    void due_now(Slot delivery);                          // its own time has come
    bool join(Slot delivery);                             // to others of its message due within the minute
    std::vector<Entry> entries(Slot delivery) const;
    void set_entries(Slot delivery, const std::vector<Entry>& entries);
    Numbers numbers_of(Slot delivery);
    Numbers numbers_of(const std::vector<Entry>& entries);
    void finish(Slot message); // remove it if nothing is left, else see to its reports
    void erase(Slot message);
    MessageExtras& extras_of(Slot message);

    // ---- routes.cpp ----
    Slot queue_for(std::string_view destination, Fate fate, std::uint16_t pool);
    std::uint16_t pool_of(std::string_view name);
    void set_pool(Queue& queue, std::uint16_t pool);
    // All queues of a domain, one per pool.
    std::vector<Slot> queues_of(std::string_view domain) const;
    static std::string queue_name(std::string_view domain, std::string_view pool);
    std::uint32_t limit_of(const Link& link) const;
    Slot link_for(std::string_view name, AgentKind kind, bool mx);
    void attach(Slot queue, Slot link);
    void detach(Slot queue);
    void refresh(Slot queue); // what it could hand out now, its place in the link's ring, its timer
    bool routable(Slot queue);
    std::uint32_t capacity_of(const Queue& queue) const; // how many more of its deliveries may be under way
    void routed(Slot queue, const Routed& event);
    void queue_lookup(Slot queue);
    void request_route(Slot queue);
    void pump_routes();
    void fail_ready(Slot queue, const Reason& reason);
    void log_undelivered(Slot delivery, Outcome outcome, const Reason& reason);
    std::vector<Slot> ring_of(Slot link) const; // its queues with something to hand out
    void arm(Slot queue);
    void queue_timer(Slot queue);
    void link_timer(Slot link);
    void check_unused(Slot link); // is it?
    void forget_link(Slot link);
    void schedule(Slot link);

    // ---- suspended.cpp ----
    const Reason* backoff_reason(Slot queue) const;
    void log_suspended(Slot delivery, const Reason& reason);
    // What one step may tell and look at, where a link with a long queue begins to rest: of further mail the link's own
    // line and listings tell.
    struct LogBudget {
        std::uint32_t recipients = 1000, inspections = 10'000;
        bool exhausted() const { return recipients == 0 || inspections == 0; }
    };
    void log_queue_suspended(Slot queue, LogBudget& left);
    void log_queue_suspended(Slot queue);
    void log_link_suspended(Slot link);
    void mark_logged(Slot delivery); // the log has a line of it now

    // ---- link_terms.cpp ----
    const Ladder& ladder(const Queue& queue) const { return rules_[queue.rule].ladder; }
    void make_rules();
    std::uint16_t rule_of(std::string_view name);
    std::uint16_t auth_of(std::string_view words);
    void join_terms(const Queue& queue);  // of its link
    void leave_terms(const Queue& queue); // settled when another joins, or by settle_terms()
    void settle_terms(Slot link);
    bool rate_open(Slot link); // may a message go over it now? else its timer is set
    smtp::Monotonic next_at(smtp::Monotonic due) const; // from when the next gap of a rate counts

    // ---- policies.cpp ----
    std::uint16_t policy_index(const RetryPolicy& policy); // its place in policies_
    std::uint16_t policy_of(std::string_view name);
    const RetryPolicy& policy(Slot message, Slot queue); // its own; else its route's, which it has from now on
    bool has_own_clock(Slot message, Slot queue) { return policy(message, queue).kind != RetryPolicy::Kind::exchange; }
    void write_policy(Slot message);
    smtp::Monotonic policy_due(Slot message, Slot queue, std::uint32_t failures);
    bool exhausted(Slot message, std::uint32_t failures) const;
    // The failure after which its route, link or queue lets nothing be tried for a while; null: it does, or that is
    // our own doing.
    const Reason* policy_backoff_reason(Slot queue) const;
    enum class Try : std::uint8_t { made, delayed };
    void count_try(Slot delivery, const Reason& reason, Try how); // that is nowhere else; it may end it
    void count_delayed_tries(Slot queue);                               // of all that are due there
    void count_delayed_tries_of_link(Slot link);
    void apply_route_policy(Slot queue); // its route has one: what is due there takes it

    // ---- link_state.cpp ----
    bool may_go_down(const Link& link) const {
        return !link.mx && !link.down && link.kind == AgentKind::smtp && settings_.link_down_after != Settings::never &&
               link.retry_since != smtp::Monotonic{};
    }
    void mark_down(Slot link);
    void mark_up(Slot link);
    void probe(Slot link); // by a connection without mail
    void probe_succeeded(Slot link);
    void schedule_reset();
    void reset_routes();
    void route_reset(Slot queue, bool found, bool moved);

    // ---- dispatch.cpp ----
    void pump(Slot link);
    std::uint32_t depth(const Link& link) const;
    std::uint32_t wanted(const Link& link) const;
    smtp::Duration pace(const Link& link) const;
    bool open_one(Slot link);
    Slot make_connection(Slot link, Agent& agent, Slot queue); // for its mail; none: a probe without
    Slot next_queue_for(Slot connection) const; // the link's next queue whose mail may go over it; none
    bool hand_over_next(Slot connection);     // false: none of the link's queues has mail for it
    Slot queue_to_probe(const Link& link) const;
    Slot take_for_probe(Queue& queue);
    void hand_over(Slot connection, Slot delivery);
    void idle_or_close(Slot connection); // nothing in flight: idle or closed
    void close(Slot connection);
    void leave_idle(Slot connection);
    void release_connection(Slot connection);
    void want_connection(Slot link);
    void serve_waiting_links();
    Agent* agent(AgentId id);
    Agent* least_busy(AgentKind kind);
    bool reserved(AgentId id) const;
    Slot connection_of(ConnectionId id) const;
    ConnectionId id_of(Slot connection) const {
        return (std::uint64_t{connections_[connection].generation} << 32) | connection;
    }

    // ---- addresses.cpp ----
    std::uint32_t limit_per_address(const Link& link) const;
    std::uint32_t reserved_for_others(Address& address, Slot link);
    void leave_addresses(Slot connection);
    void release_address(Slot address);
    void invite_next(Slot address); // links that wait for room there
    void leave_waiting_lines(Slot link);
    void reached_address_limit(Slot link);
    bool at_address_limit(const Link& link) const { return now_.monotonic < link.address_limit_until; }
    std::string address_limit_text(const Link& link) const;
    std::vector<AddressInfo> addresses_of(Slot link) const;

    // ---- isolation.cpp ----
    void pump_isolated(AgentKind kind);
    bool may_try_isolated(const Delivery& delivery) const;
    Slot next_isolated(AgentKind kind);
    AgentKind kind_of(Slot delivery) const;
    std::optional<smtp::Monotonic> isolation_timer() const;
    void suspect(Slot delivery, bool was_alone);

    // ---- recall.cpp ----
    void recall_stalled(Slot link);
    void cancel(Slot delivery);
    void cancel_expired(Slot delivery);

    // ---- results.cpp ----
    Slot active_delivery(DeliveryId id) const; // none: it is not in flight (any more)
    void remove_from_connection(Slot delivery); // from its connection; not placed yet
    void return_untried(Slot delivery, End end);
    bool count_by_policy(Slot delivery, const Reason& reason);
    void bounce_for_credentials(Slot link, Reason reason);
    void record_transaction_time(Slot connection, Slot delivery);
    void accept_repeated(const Done& event);
    void accept_repeated_result(Slot message, const Result& result);
    void push_back(Slot link, std::uint32_t open);

    // ---- outcomes.cpp ----
    struct Verdicts;
    void process_results(Slot delivery, Slot link, Slot connection, const Done& event);
    Verdicts classify_results(Slot delivery, const Done& event);
    void update_link_health(Slot link, Slot connection, std::uint64_t id, const Verdicts& verdicts);
    void defer_message(const Delivery& like, Slot& spare, Verdicts& verdicts, smtp::Monotonic due);
    void defer_recipients(const Delivery& like, Slot& spare, Verdicts& verdicts);
    Slot delivery_like(const Delivery& like, Slot& spare, const std::vector<Entry>& list);
    // What was tried in vain waits until `due`: in `spare` if that is still free, else in a delivery of its
    // own.
    void defer_delivery(const Delivery& like, Slot& spare, const std::vector<Entry>& list, smtp::Monotonic due,
                    const Reason& reason, Try how = Try::made);

    // ---- health.cpp ----
    void link_succeeded(Slot link);
    void link_failed(Slot link, Slot connection, PushBack push_back, Phase phase, const Reason& reason);
    void queue_succeeded(Slot queue);
    void queue_failed(Slot queue, const Reason& reason);
    // A message failed on its queue; when is its next try?
    smtp::Monotonic message_failed(Slot queue, const Delivery& delivery, const Reason& reason);
    smtp::Monotonic after(smtp::Duration wait);
    void restore_health(HealthState& health, const HealthSnapshot& from);
    void notice_link(Slot link, std::uint32_t event);
    void notice_queue(Slot queue, std::uint32_t event);

    // ---- reports.cpp ----
    void report(Slot message, ReportKind kind, RecipientNumber number, bool expired, const Reason& reason);
    void report_first_try(Slot delivery, const std::vector<Entry>& entries, const Reason& reason);
    void report_verification(Slot message, const std::vector<Entry>& entries, const Reason& reason);
    void plan_reports(Slot message);
    void add_report(Slot message, PendingReport&& due);
    static void count_unrequested(MessageExtras& extra);
    bool may_request_reports() const;
    bool reports_wanted() const; // and may be asked for now
    bool request_report(Slot message, ReportKind kind);
    void bounce_gone();
    void defer_report(Slot message, std::uint64_t request, smtp::Duration wait, std::string why);
    void pump_reports();
    void drop_superseded_notices(Slot message);
    void drop_reports(Slot message);

    // ---- sweeper.cpp ----
    std::uint32_t expires(const Message& message) const;
    void leave_incoming(Slot message);
    std::uint32_t sweep_step() const; // seconds
    void watch(Slot message);         // by the sweeper, at its next time
    void unwatch(Slot message);
    void sweep(Slot message);
    static bool affects_whole_queue(const Queue& queue); // the failure it rests after, if it does
    bool expirable(const Delivery& delivery) const;
    void expire(Slot message, const std::vector<Entry>& entries, const Reason& reason);
    Reason reason_of(const Delivery& delivery) const;

    // ---- operator_commands.cpp ----
    bool set_paused(Scope scope, std::string_view name, bool on);
    void try_now(Slot delivery);
    void held_changed(Slot message);

    // ---- suppressed.cpp ----
    void check_suppressions(Slot delivery); // that is nowhere else now
    bool is_affected(const SuppressionChanged& event, Slot delivery) const; // keys and domains sorted

    // ---- listing.cpp ----
    MessageInfo info(Slot message, smtp::Now now) const;
    Waiting waiting(const Delivery& delivery) const;
    struct QueueBackoffs { // of a link's queues: how many rest after a failure of their own, and the next that is tried
        const Queue* queue = nullptr;
        std::size_t queues = 0;
        std::size_t due = 0, waiting = 0; // deliveries; those of paused queues do not wait by themselves
        const Queue* stopped = nullptr;   // one with mail that is paused
        smtp::Monotonic next{};           // of what waits by itself; {}: not known
        bool stops() const { return stopped && (due > 0 || waiting == 0); }
    };
    struct Times { // of a queue's deliveries
        std::int64_t arrival = 0;        // of the oldest message
        smtp::Monotonic next{};          // of what waits for its own time; {}: none does
        std::uint32_t problem = 0;       // of them, problem messages
    };
    std::optional<PausedObject> pause_of(const Queue& queue) const;
    std::string idle_reason(const Link& link, const QueueBackoffs& resting) const;
    std::string idle_reason(const Queue& queue) const;
    std::map<Slot, Times> times_by_queue() const;
    Rank rank(const Message& message, Order order) const;
    std::optional<smtp::Monotonic> next_try(const Message& message) const;
    std::optional<smtp::Monotonic> next_try(const Delivery& delivery) const;

    // ---- wait_reasons.cpp ----
    // Its next hop could not be found, last time it was looked up; that may be under way again.
    bool unroutable(const Queue& q) const { return q.link == none && q.route_failures > 0; }
    std::string route_wait_text(const Queue& queue) const;
    std::string waiting_for(const Delivery& delivery) const; // in plain words; "" where nothing is to be added
    smtp::WallTime failing_since(const Delivery& delivery) const; // what reason_of() says
    std::string report_wait_text(const MessageExtras& extra) const;
    static constexpr std::size_t max_reasons = 100; // told apart
    void add_unrouted_queues(std::vector<Unrouted>& out) const;
    void add_uncategorized(std::vector<Unrouted>& out) const;
    void add_pending_reports(std::vector<Unrouted>& out) const;

    // ---- explain.cpp ----
    Explanation explanation(Slot delivery) const;
    // Of a delivery that is not categorized; none where nothing was said.
    const std::vector<CategorizerDeferral>& undecided(const Delivery& delivery) const;
    std::uint32_t count_ahead(Slot delivery) const;
    bool is_next(Slot delivery) const;
    std::string limit_key(const Link& link) const;

    struct IdOf {
        const Slab<Message>* messages;
        std::uint64_t operator()(Slot slot) const { return (*messages)[slot].id; }
    };
    struct NameHash {
        using is_transparent = void;
        std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>{}(name); }
    };
    using Names = std::unordered_map<std::string, Slot, NameHash, std::equal_to<>>;

    Settings settings_;
    Random random_;
    smtp::Monotonic start_;
    smtp::Duration offset_; // wall = monotonic + offset
    smtp::Now now_;
    Actions* out_ = nullptr;
    Seconds last_wait_end_ = 1; // the last wait of our own doing that everything shared ended

    Slab<Message> messages_;
    Slab<Delivery> deliveries_;
    Slab<RecipientList> recipient_lists_;
    Slab<MessageExtras> extras_;
    Slab<Queue> queues_;
    Slab<Link> links_;
    Slab<Connection> connections_;
    Slab<Address> addresses_; // that have connections, or links that wait for room
    std::vector<Agent> agents_;

    Index<IdOf> messages_by_id_;
    Names queues_by_name_, links_by_name_, addresses_by_name_;
    Flows flows_;
    DueHeap<Delivery, &Delivery::due, &Delivery::heap> waiting_;
    DueHeap<Queue, &Queue::timer, &Queue::heap> queue_timers_;
    DueHeap<Link, &Link::timer, &Link::heap> link_timers_;

    // Pre-categorization.
    static constexpr std::uint32_t small_message = 50;         // recipients; those with more wait by themselves
    static constexpr std::uint32_t recipients_at_once = 20'000; // of those; one alone may have more
    DeliveryList pending_, pending_large_, categorizing_;
    std::uint32_t categorizing_large_ = 0,
                  categorizing_recipients_ = 0;              // of categorizing_: the large ones, and their recipients
    std::uint32_t categorizer_window_ = ~0u;                 // asked at a time, at most
    std::uint64_t last_alone_with_categorizer_ = 0;          // the message it had alone when it went last; 0: several
    DeliveryList isolated_[2];        // suspects that are due, by AgentKind
    struct Reservation {
        std::optional<AgentId> agent;
        smtp::Monotonic since{}; // reserved, or last given up
    } reservation_[2];
    List<Connection, &Connection::idle_prev, &Connection::idle_next> idle_;
    std::vector<Slot> links_to_schedule_;
    std::deque<Slot> waiting_links_; // links that want a connection more than the limits of all allow
    std::uint32_t open_ = 0;  // connections in all
    bool connection_freed_ = false;       // a connection ended or an agent came: the hungry may be fed

    std::vector<Rule> rules_;           // the first: no rule
    // By value, never changed: messages have places in it. The first: none is named; the second: "exchange" is.
    std::deque<RetryPolicy> policies_;
    std::vector<std::string> auths_ = {""};
    std::optional<smtp::Monotonic> reset_at_;
    smtp::Monotonic last_reset_{};
    std::uint32_t reset_open_ = 0, reset_moved_ = 0, reset_queues_ = 0;
    bool reset_failed_ = false;
    smtp::Duration longest_rung_{}; // of any route's ladder or policy
    std::uint64_t overdue_ = 0;     // messages that were overdue when they were found
    std::map<std::string, HealthSnapshot, std::less<>> snapshot_links_, snapshot_queues_, snapshot_routes_;

    std::deque<Slot> pending_lookups_, repeated_lookups_;             // queues to be looked up; whose last look-up failed
    std::uint32_t lookups_ = 0, repeats_ = 0;                // asked of the router; of these: whose last one failed
    std::set<std::pair<smtp::Monotonic, Slot>> reports_due_; // messages
    // So many recipients, and so much text about them, one report tells of; the next one tells of more.
    static constexpr std::uint32_t max_report_recipients = 10'000;
    static constexpr std::size_t max_report_size = 4 << 20;
    static constexpr std::size_t max_requested_reports = 100, max_requested_size = 8 << 20; // under way; bytes
    struct RequestedReport {
        Slot message = none;
        std::size_t size = 0;
    };
    std::unordered_map<std::uint64_t, RequestedReport> requested_reports_; // by request
    void forget_request(std::unordered_map<std::uint64_t, RequestedReport>::iterator asked);
    std::size_t requested_reports_size_ = 0;
    std::size_t reports_window_ = max_requested_reports; // asked for at a time, at most
    std::uint64_t last_alone_with_bounce_ = 0;        // as last_alone_with_categorizer_
    std::uint64_t last_request_ = 0;

    MessageList young_;
    std::map<std::uint32_t, MessageList> watched_; // by second (1970)
    std::deque<std::string> forgotten_;            // names of links and domains that went with this event
    using Gates = std::set<std::string, std::less<>>;
    Gates paused_links_, paused_queues_, paused_pools_;
    std::vector<std::string> pools_ = {""}; // names of the pools of source addresses, as met; the first: none
    bool paused_ = false;
    bool categorizer_up_ = true, router_up_ = true, bounce_up_ = true;
    std::uint64_t held_ = 0;
    std::uint64_t checking_ = 0; // deliveries the suppression list is being asked about
    std::uint64_t scheduled_ = 0;          // deliveries in the heap that wait for a wall-clock time
    std::uint64_t uncategorized_wait_ = 0; // … and those that wait to be asked about again
    mutable std::uint64_t oldest_id_ = 0;  // message with the earliest arrival; 0: to be found
    mutable Slot oldest_ = none;

    struct Sorted { // scratch of categorized()
        Slot queue;
        std::uint16_t sender_group;
        RestoredRecipient restored;
        std::uint32_t key;
        bool needs_suppression_check;
    };
    std::vector<Sorted> sorted_;
};

} // namespace decide::queue

// The objects of the queue and their states, as stored in memory. Plain data; the rules are in the classes that work on
// them. A queued message with one recipient is one Message, one Delivery and its entries in index and heap: 200 bytes
// at most, so no strings, vectors or pointers here except in objects that are few.
#pragma once
#include "daemons/decide/queue/actions.h"
#include "daemons/decide/queue/containers/list.h"
#include "daemons/decide/queue/containers/window.h"
#include "daemons/decide/queue/events.h"
#include "daemons/decide/queue/listing.h"
#include "daemons/decide/queue/model/closed_times.h"
#include "daemons/decide/queue/model/lanes.h"
#include "daemons/decide/queue/model/shared_rates.h"
#include <optional>
#include <string>
#include <vector>

namespace decide::queue {

enum class DeliveryState : std::uint8_t {
    pending,      // pre-categorization: to be asked
    categorizing, // pre-categorization: the categorizer has it
    waiting,      // in the heap until its own time (retry schedule, sender's schedule, categorizer's retry)
    ready,        // in a lane of its queue
    isolated,     // due, suspect: waits for an agent to itself
    checking,     // waits for the suppression list's answer
    active,       // handed to an agent
    held,         // the message is held
};

// A message's recipients in one queue that travel together; queue none: not categorized yet.
struct Delivery {
    smtp::Monotonic due{};        // waiting: until then; else since when it has been due; active: when handed over
    std::uint32_t generation = 0; // detects a stale DeliveryId
    Slot message = none, prev_of_message = none, next_of_message = none;
    Slot queue = none;
    Slot prev = none, next = none; // in its lane's flow, connection, or pre-categorization list
    Slot holder = none;            // ready: its flow; active: its connection
    std::uint32_t heap = 0;
    Seconds since = 0, tried = 0; // free to be tried since; last tried
    std::uint32_t count = 1;      // recipients
    std::uint32_t number = 0;     // count 1: the recipient; else its slot in Deliveries::lists (whole: unused)
    std::uint32_t key = 0;        // count 1: of its recipient's address
    Seconds ready = 0;            // since when nothing of its own keeps it; 0: it waits for its time, or is held
    std::uint16_t failures = 0;   // steps taken on the retry schedule (count 1; else the most of its recipients)
    std::uint16_t sender_group = 0;
    std::uint16_t round = 0; // of the queue, when handed over; uncategorized: tries at the categorizer
    std::uint8_t message_failures = 0, deaths = 0;
    DeliveryState state = DeliveryState::pending;
    bool problem : 1 = false;
    bool suspect : 1 = false;
    bool postponed : 1 = false;               // once, to travel with others of its message
    bool scheduled : 1 = false;               // waits for a wall-clock time
    bool first_try_reported : 1 = false;      // its sender got a report of its first try
    bool delay_notified : 1 = false;          // delay notice of it sent or requested
    bool all_recipients : 1 = false;          // uncategorized: numbers 0 … count-1
    bool unlogged : 1 = false;                // new, and the log has no line of it yet
    bool cancelled : 1 = false;               // active: its agent was told to end it
    bool needs_suppression_check : 1 = false; // the suppression list must be checked before its next try
    bool large : 1 = false;                   // pending, asked: waits in the line for many recipients
    bool own_clock : 1 = false;               // ready: its message has a named policy, whose tries count by time
};

struct Entry { // one of several recipients of a delivery
    RecipientNumber number = 0;
    std::uint16_t failures = 0;
    std::uint32_t key = 0; // of its address
};
using RecipientList = std::vector<Entry>;

struct Message {
    std::uint64_t id = 0;
    std::int64_t arrival = 0; // µs since 1970
    std::uint64_t size = 0;
    std::uint32_t free_from = 0; // s since 1970: when it was first free to go
    std::uint32_t expiry = 0;    // s since 1970 if expiry_fixed, else s from free_from: as recorded
    std::uint32_t submitter = 0; // hash
    Slot first = none;           // its deliveries
    std::uint32_t open = 0;      // recipients not accounted for
    std::uint32_t active = 0;    // deliveries in flight
    Slot extras = none;
    Slot time_prev = none, time_next = none;
    std::uint32_t bucket = 0; // young: Seconds when accepted; else second (1970) of the sweeper's next look; 0: none
    std::uint16_t pool = 0;
    std::uint16_t policy = 0; // Terms::policy_at(), by value; 0: its route's
    Lane lane = Lane::normal;
    spool::Location location = spool::Location::incoming;
    bool young : 1 = false; // in the list of those that may be done before they need a place in messages/
    bool null_sender : 1 = false;
    bool held : 1 = false;
    bool delay_notified : 1 = false; // delay notices of all its deliveries sent or requested
    bool logged_active : 1 = false;
    bool scheduled : 1 = false;          // not before free_from
    bool with_earlier_agent : 1 = false; // an agent of an earlier queue-manager still delivers it
    bool newly_submitted : 1 = false;    // newly submitted
    bool expiry_fixed : 1 = false;
    bool returned_late : 1 = false;     // it expires whatever keeps it (RFC 2852, mode R)
    bool notifies_late : 1 = false;     // its extras have the time of its delay notice (mode N)
    bool policy_unrecorded : 1 = false; // its file does not have the policy's values yet
    Trace trace : 2 = Trace::none;
};

// What must still be reported to a finished recipient's sender.
struct PendingReport {
    ReportKind kind = ReportKind::failed;
    ReportRecipient recipient;
    std::uint64_t request = 0; // 0: not requested yet
};

// Recipients that the categorizer deferred, and why.
struct CategorizerDeferral {
    Reason reason;
    std::vector<RecipientNumber> numbers;
};

// What only some messages have.
struct MessageExtras {
    std::uint32_t notify_at = 0;                // Message::notifies_late: s since 1970
    std::vector<CategorizerDeferral> undecided; // according to its last answer
    std::vector<RestoredRecipient> restored;    // until categorized, sorted by number
    std::vector<RecipientNumber> finished;      // results that came before categorization (repeated by an agent)
    std::vector<PendingReport> reports;
    std::uint32_t unrequested = 0; // of them, those not requested yet, and their size
    std::size_t unrequested_size = 0;
    smtp::Monotonic report_at{};  // when to request them; {}: not planned
    bool report_deferred = false; // the last attempt failed: not before report_at
    std::string report_error;
};

// Health of a link or a queue: its position on the retry schedule.
struct HealthState {
    Health health = Health::ready;
    bool probing = false;    // the one try of this rung is in progress
    std::uint16_t round = 0; // results of an earlier round are not counted again
    std::uint32_t failures = 0;
    smtp::Monotonic due{}; // of the next try, when not ready
    smtp::WallTime failing_since{};
    Seconds last_failure = 0;
    Reason last_error;
    ClosedTimes failing; // when it was not ready
};

enum class RouteState : std::uint8_t { unknown, requested, known, failed, impossible, store };

// All deliveries for one destination from one pool of source addresses.
struct Queue {
    std::string name;                          // "example.org", "example.org@pool", "store:local/ann"
    std::uint16_t pool = 0, domain_length = 0; // pool: that its mail names
    std::uint16_t source_pool = 0;             // that pool, or if there is none its route's
    std::string_view domain() const { return std::string_view(name).substr(0, domain_length); }
    Slot link = none;
    Slot ring_prev = none, ring_next = none; // among its link's queues with something to hand out
    bool in_ring = false;
    bool paused = false, pool_paused = false;
    bool is_paused() const { return paused || pool_paused; }
    bool lookup_queued = false;   // waits to be looked up
    bool repeated_lookup = false; // requested: its last lookup failed
    bool per_user = false;        // of one mailbox or user here: settings limit its deliveries in flight
    Lanes lanes;
    std::uint32_t deliveries = 0, active = 0;
    std::uint32_t waiting = 0; // in the heap, on their own retry schedules
    std::uint32_t offer = 0;   // deliveries it could hand out now, as counted in its link
    HealthState health;
    std::optional<smtp::Monotonic> last_delivered;
    std::uint64_t failed_message = 0; // of the first failure in the row
    bool distinct = false;            // failures of different messages
    bool policy_failed = false;       // its last failure was the domain's, not a message's
    Slot head = none;                 // retried first …
    std::uint32_t head_generation = 0;
    std::uint16_t rule = 0;        // Terms::rule()
    std::uint16_t auth = 0;        // Terms::auth_of(): how we authenticate for its mail
    std::uint32_t connections = 0; // the limit by its route; 0: the setting for the link's kind
    bool resetting = false;        // its route is looked up again, by a reset
    bool secure = false;           // as Routed said
    RouteState route = RouteState::unknown;
    std::uint32_t route_failures = 0; // in a row
    smtp::WallTime route_failing_since{};
    smtp::Monotonic route_until{}; // known, impossible: valid until; failed: next try
    Seconds route_failed_at = 0;
    Seconds last_wait_end = 0; // last wait of our own doing ended
    Seconds linked = 0;        // since when it goes by its link
    Reason route_reason;
    Reason last_wait; // why a message of it waits by itself: the last one deferred
    smtp::Monotonic timer{};
    std::uint32_t heap = 0;
    smtp::Monotonic empty_since{}; // no delivery, nothing to remember

    // Its next hop was not found at the last lookup; another one may be in progress.
    bool unroutable() const { return link == none && route_failures > 0; }
    // Does the failure it backs off after concern all its mail? The glitch that one message's failure costs it does
    // not.
    bool fails_as_a_whole() const {
        return health.health == Health::retry || (health.health == Health::glitch && policy_failed);
    }
};

// A route's settings for queueing, resolved.
struct Rule {
    std::string name;
    Ladder ladder;
    smtp::Duration message_gap{}, connection_gap{}; // by the rates; 0: none
    bool share_rates = false;                       // they are those of all nodes together
    std::uint16_t policy = 0;
    bool by_backlog = false;
    bool bounces_on_auth_failure = false; // fails mail at once if credentials are rejected
};

// The terms that this number of a link's queues share.
struct LinkTerms {
    std::uint16_t rule = 0;
    std::uint32_t connections = 0;
    std::uint32_t queues = 0;
};

enum class ConnectionState : std::uint8_t { opening, up, closing };

struct Connection {
    std::uint32_t generation = 0;
    AgentId agent = 0;
    Slot link = none;
    Slot prev = none, next = none;           // among the link's
    Slot idle_prev = none, idle_next = none; // among all idle ones, longest idle first
    bool idle = false;
    bool isolated = false; // for one suspect delivery, on an agent with nothing else in flight
    bool probe = false;    // the link's one try of this rung
    bool stalled = false;  // waiting deliveries were recalled from it; it gets nothing before it completes something
    std::vector<Slot> addresses; // that it tries or has; empty: not known yet, or a local one
    ConnectionState state = ConnectionState::opening;
    std::uint16_t round = 0; // of the link, when opened
    std::uint16_t rule = 0;  // of the queue it was opened for: the link backs off on its schedule, if it fails
    std::uint16_t auth = 0;  // … and it takes only mail for which we authenticate in the same way
    std::uint32_t handed = 0, completed = 0;
    List<Delivery, &Delivery::prev, &Delivery::next> deliveries;
    smtp::Monotonic last_done{}; // or when it came up
    smtp::Monotonic idle_since{};
};

struct Link {
    std::string name;
    AgentKind kind = AgentKind::smtp;
    std::uint16_t pool = 0; // that its connections come from
    bool mx = false;
    bool paused = false, needs_scheduling = false, wants_connection = false;
    HealthState health;
    std::uint16_t rule = 0;       // of the queue that it failed for last
    std::vector<LinkTerms> terms; // of its queues; the strictest of each number holds:
    std::uint32_t limit = 0;      // of its connections
    smtp::Duration message_gap{}, connection_gap{};
    SharedRates shared;                                // those that all nodes keep together
    bool by_backlog = false;                           // set by one of them
    std::uint16_t limit_rule = 0, rate_rule = 0;       // which rule the limit and the message rate come from; 0: none
    std::uint16_t shared_rule = 0;                     // the same for the shared message rate
    std::vector<LinkFailure> history;                  // the last of them, oldest first
    bool down = false;                                 // reported to the router
    smtp::Monotonic retry_since{};                     // {}: not in retry
    std::optional<smtp::Monotonic> good_since;         // down: time of the first good probe
    smtp::Monotonic next_message{}, next_connection{}; // by its rates
    Window window;
    Slot ring = none; // queues with something to hand out; the next one's turn
    std::uint32_t queues = 0;
    std::uint32_t offer = 0;     // sum of its queues'
    std::uint32_t in_flight = 0; // deliveries handed over
    std::uint32_t up = 0, opening = 0, closing = 0;
    List<Connection, &Connection::prev, &Connection::next> connections;
    smtp::Duration transaction{}; // measured; 0: nothing completed yet
    smtp::Monotonic transaction_raised{};
    smtp::Monotonic last_progress{}; // a result, or the first delivery handed to an idle link
    std::optional<smtp::Monotonic> last_useful;
    smtp::Monotonic not_before{};           // no further connection until then (push-back)
    smtp::Monotonic address_limit_until{};  // no further connection until then, unless an address invites it
    std::string full_address;               // the address that had no room last
    std::uint32_t push_backs = 0;           // in a row
    std::uint32_t orderly_closes = 0;       // consecutive connections closed properly without doing anything
    smtp::Monotonic empty_since{};          // no queue uses it, no connection is left, nothing to remember
    std::uint64_t last_dropped_message = 0; // the last thing that happened was a drop in its data
    Seconds last_wait_end = 0;
    smtp::Monotonic timer{};
    std::uint32_t heap = 0;

    std::uint32_t open() const { return up + opening + closing; }
};

// One remote address, whatever links lead there.
struct Address {
    std::string name;
    std::uint32_t connections = 0;
    std::vector<Slot> waiting_links; // links that found no room, first come first; some may no longer need it
    struct Invitation {
        Slot link = none;
        smtp::Monotonic until{};
    };
    std::vector<Invitation> invited; // of them, those for which a place is reserved for a while
};

struct Agent {
    AgentId id = 0;
    AgentKind kind = AgentKind::smtp;
    std::uint32_t capacity = 0, connections = 0, in_flight = 0;
};

} // namespace decide::queue

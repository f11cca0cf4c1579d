// The objects of the queue and their states, as they lie in memory. Plain data; the rules are in the classes
// that work on them. A queued message with one recipient is one Message, one Delivery and its places in index
// and heap: 200 bytes at most, so no strings, vectors or pointers here except where few objects have them.
#pragma once
#include "daemons/decide/queue/actions.h"
#include "daemons/decide/queue/containers/list.h"
#include "daemons/decide/queue/containers/window.h"
#include "daemons/decide/queue/events.h"
#include "daemons/decide/queue/listing.h"
#include "daemons/decide/queue/model/lanes.h"
#include <optional>
#include <string>
#include <vector>

namespace decide::queue {

using Seconds = std::uint32_t; // of the monotonic clock since the engine began; 0: never

enum class DeliveryState : std::uint8_t {
    pending,      // pre-categorization: to be asked
    categorizing, // pre-categorization: the categorizer has it
    waiting,      // in the heap until its own time (ladder, schedule, categorizer's retry)
    ready,        // in a lane of its queue
    isolated,     // due, suspect: waits for an agent to itself
    checking,     // the suppression list is being asked about it
    active,       // handed to an agent
    held,         // the message is held
};

// A message's recipients in one queue that travel together; queue none: not categorized yet.
struct Delivery {
    smtp::Monotonic due{};        // waiting: until then; else since when it has been due; active: when handed over
    std::uint32_t generation = 0; // tells a stale DeliveryId
    Slot message = none, prev_of_message = none, next_of_message = none;
    Slot queue = none;
    Slot prev = none, next = none; // in its lane's flow, connection, or pre-categorization list
    Slot holder = none;            // ready: its flow; active: its connection
    std::uint32_t heap = 0;
    Seconds since = 0, tried = 0; // free to be tried since; last tried
    std::uint32_t count = 1;      // recipients
    std::uint32_t number = 0;     // count 1: the recipient; else its slot in Deliveries::lists (whole: unused)
    std::uint16_t failures = 0;   // rungs climbed (count 1; else the most of its recipients)
    std::uint16_t sender_group = 0;
    std::uint16_t round = 0; // of the queue, when handed over; uncategorized: tries at the categorizer
    std::uint32_t key = 0;   // count 1: of its recipient's address
    std::uint8_t message_failures = 0, deaths = 0;
    DeliveryState state = DeliveryState::pending;
    bool problem : 1 = false;
    bool suspect : 1 = false;
    bool postponed : 1 = false;               // once, to travel with others of its message
    bool scheduled : 1 = false;               // waits for a wall-clock time
    bool first_try_reported : 1 = false;      // its sender has been told of its first try
    bool all_recipients : 1 = false;          // uncategorized: numbers 0 … count-1
    bool unlogged : 1 = false;                // new, and the log has no line of it yet
    bool cancelled : 1 = false;               // active: its agent was told to end it
    bool needs_suppression_check : 1 = false; // the suppression list is to be asked before its next try
    bool large : 1 = false;                   // pending, asked: so many recipients that it waits in the line of such
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
    bool delay_notified : 1 = false; // delay notice sent or asked for
    bool logged_active : 1 = false;
    bool scheduled : 1 = false;          // not before free_from
    bool with_earlier_agent : 1 = false; // an agent of an earlier queue-manager still delivers it
    bool newly_submitted : 1 = false;    // newly submitted
    bool expiry_fixed : 1 = false;
    bool policy_unrecorded : 1 = false; // its file does not have the policy's values yet
    Trace trace : 2 = Trace::none;
};

// What a finished recipient's sender is still to be told.
struct PendingReport {
    ReportKind kind = ReportKind::failed;
    ReportRecipient recipient;
    std::uint64_t request = 0; // 0: not asked for yet
};

// Recipients for whom the categorizer said to wait, and why.
struct CategorizerDeferral {
    Reason reason;
    std::vector<RecipientNumber> numbers;
};

// What only some messages have.
struct MessageExtras {
    std::vector<CategorizerDeferral> undecided; // by its last answer
    std::vector<RestoredRecipient> restored;    // until categorized, sorted by number
    std::vector<RecipientNumber> finished;      // told of before categorization (an agent's repeated results)
    std::vector<PendingReport> reports;
    std::uint32_t unrequested = 0; // of them, those not asked for yet, and what they take
    std::size_t unrequested_size = 0;
    smtp::Monotonic report_at{};  // when to ask for them; {}: not planned
    bool report_deferred = false; // last time it could not be done: not before report_at
    std::string report_error;
};

// Health of a link or a queue: the ladder's state.
struct HealthState {
    Health health = Health::ready;
    bool probing = false;    // the one try of this rung is under way
    std::uint16_t round = 0; // results of an earlier round are not counted again
    std::uint32_t failures = 0;
    smtp::Monotonic due{}; // of the next try, when not ready
    smtp::WallTime failing_since{};
    Seconds last_failure = 0;
    Reason last_error;
};

enum class RouteState : std::uint8_t { unknown, requested, known, failed, impossible, store };

// All deliveries for one destination from one pool of source addresses.
struct Queue {
    std::string name;                          // "example.org", "example.org@pool", "store:local/ann"
    std::uint16_t pool = 0, domain_length = 0; // pool: that its mail names
    std::uint16_t source_pool = 0;             // that pool, or where there is none its route's
    std::string_view domain() const { return std::string_view(name).substr(0, domain_length); }
    Slot link = none;
    Slot ring_prev = none, ring_next = none; // among its link's queues with something to hand out
    bool in_ring = false;
    bool paused = false, pool_paused = false;
    bool is_paused() const { return paused || pool_paused; }
    bool lookup_queued = false;   // waits to be looked up
    bool repeated_lookup = false; // asked: its last look-up failed
    bool per_user = false;        // of one mailbox or user here: so many deliveries at a time as settings say
    Lanes lanes;
    std::uint32_t deliveries = 0, active = 0;
    std::uint32_t waiting = 0; // in the heap, by their own ladders
    std::uint32_t offer = 0;   // deliveries it could hand out now, as counted in its link
    HealthState health;
    std::optional<smtp::Monotonic> last_delivered;
    std::uint64_t failed_message = 0; // of the first failure of the row
    bool distinct = false;            // failures of different messages
    bool policy_failed = false;       // its last failure was the domain's, not a message's
    Slot head = none;                 // tried again first …
    std::uint32_t head_generation = 0;
    std::uint16_t rule = 0;        // Terms::rule()
    std::uint16_t auth = 0;        // Terms::auth_of(): how we authenticate for its mail
    std::uint32_t connections = 0; // the limit by its route; 0: the setting for the link's kind
    bool resetting = false;        // its route is asked for anew, by a reset
    bool secure = false;           // as Routed said
    RouteState route = RouteState::unknown;
    std::uint32_t route_failures = 0; // in a row
    smtp::WallTime route_failing_since{};
    smtp::Monotonic route_until{}; // known, impossible: valid until; failed: next try
    Seconds route_failed_at = 0;
    Seconds last_wait_end = 0; // last wait of our own doing ended
    Reason route_reason;
    Reason last_wait; // why a message of it waits by itself: of the last that was put off
    smtp::Monotonic timer{};
    std::uint32_t heap = 0;
    smtp::Monotonic empty_since{}; // no delivery, nothing to remember

    // Its next hop could not be found, last time it was looked up; that may be under way again.
    bool unroutable() const { return link == none && route_failures > 0; }
    // Does the failure it rests after say something of all its mail? The glitch that one message's failure costs it
    // does not.
    bool fails_as_a_whole() const {
        return health.health == Health::retry || (health.health == Health::glitch && policy_failed);
    }
};

// What a route says of queueing, worked out.
struct Rule {
    std::string name;
    Ladder ladder;
    smtp::Duration message_gap{}, connection_gap{}; // by the rates; 0: none
    std::uint16_t policy = 0;
    bool by_backlog = false;
    bool bounces_on_auth_failure = false; // mail, where credentials are refused
};

// What so many queues of a link bring with them.
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
    bool stalled = false;  // what waits for its turn on it was asked for; it gets nothing before it completes something
    std::vector<Slot> addresses; // that it tries or has; empty: not known yet, or a local one
    ConnectionState state = ConnectionState::opening;
    std::uint16_t round = 0; // of the link, when opened
    std::uint16_t rule = 0;  // of the queue it was opened for: by its ladder the link climbs, if it fails
    std::uint16_t auth = 0;  // and takes the mail only of those for whom we authenticate in the same way
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
    bool by_backlog = false;                           // as one of them says
    std::uint16_t limit_rule = 0, rate_rule = 0;       // whose limit and rate of messages these are; 0: none's
    std::vector<LinkFailure> history;                  // the last of them, oldest first
    bool down = false;                                 // told to the router
    smtp::Monotonic retry_since{};                     // {}: not in retry
    std::optional<smtp::Monotonic> good_since;         // down: when the first good probe was
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
    smtp::Monotonic address_limit_until{};  // no further connection until then, unless an address calls
    std::string full_address;               // the address that had no room last
    std::uint32_t push_backs = 0;           // in a row
    std::uint32_t orderly_closes = 0;       // connections in a row that ended in good order having done nothing
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
    std::vector<Slot> waiting_links; // links that found no room, first come first; some need it no more
    struct Invitation {
        Slot link = none;
        smtp::Monotonic until{};
    };
    std::vector<Invitation> invited; // of them, for whom a place is kept for a while
};

struct Agent {
    AgentId id = 0;
    AgentKind kind = AgentKind::smtp;
    std::uint32_t capacity = 0, connections = 0, in_flight = 0;
};

} // namespace decide::queue

// What listings show of the queue's state: copies, safe to keep.
#pragma once
#include "daemons/decide/queue/actions.h"
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace decide::queue {

// The link key and name of local delivery into one store.
inline constexpr std::string_view store_prefix = "store:";

// What an operator has paused; everything has no name.
struct PausedObject {
    Scope scope = Scope::everything;
    std::string name;
    bool operator==(const PausedObject&) const = default;
};

// Recipients by their numbers in the message: those that a listing is about. Of a message with thousands of them, each
// on a queue of its own, a page then costs what it shows.
struct RecipientRange {
    RecipientNumber first = 0, last = std::numeric_limits<RecipientNumber>::max();
    bool contains(RecipientNumber number) const { return number >= first && number <= last; }
};

// Where a delivery is, and the first thing that keeps it there.
enum class Waiting : std::uint8_t {
    categorizer, // to be asked, or asked
    scheduled,   // not before a time the sender chose
    held,
    route,    // its domain is being looked up
    own_time, // its own retry schedule
    queue,    // its queue is in glitch or retry
    link,     // its link is in glitch or retry
    paused,
    connection, // due: for its turn on a connection
    suspect,    // due: for an agent to itself
    active,     // in flight
    report,     // finished but for a report to the sender
};

struct DeliveryInfo {
    Waiting waiting = Waiting::connection;
    std::string queue, link;                 // "" if unknown
    std::vector<RecipientNumber> recipients; // empty: all of the envelope
    std::uint32_t failures = 0;
    bool problem = false;
    smtp::WallTime next_attempt{};         // {}: as soon as its turn comes; if held or paused: not automatically
    std::optional<PausedObject> paused_by; // waiting == paused: by this
    Reason reason;                         // link's, queue's or route's if it waits for that; else empty
    smtp::WallTime since{};                // when the reason first applied; {}: unknown
    std::string waiting_for;               // besides the reason, in plain words; "" when in flight
};

struct MessageInfo {
    spool::QueueId id;
    spool::Location location = spool::Location::incoming;
    std::uint64_t size = 0;
    smtp::WallTime arrival{}, expiry{};
    Lane lane = Lane::normal;
    bool held = false, active = false; // active: some part of it is in flight
    std::vector<DeliveryInfo> deliveries;
};

// The gates between a delivery and a connection, in this order.
enum class Gate : std::uint8_t {
    schedule,
    hold,
    agent, // of an earlier queue-manager, that still delivers it
    pause,
    categorizer,
    suppression,
    route,
    link,
    queue,
    ladder,
    rate,
    window,
    turn,
    report, // nothing is left to deliver
};

struct GateInfo {
    Gate gate = Gate::schedule;
    bool open = true;
    std::string text;       // closed: what it waits for, in plain words
    Reason reason;          // closed: the error that closed it, if any …
    smtp::WallTime since{}; // … and when it first applied; {}: unknown
    smtp::WallTime until{};
    Scope scope = Scope::everything; // pause
    std::string name;                // pause: what is paused
};

struct Explanation {
    std::vector<RecipientNumber> recipients; // empty: all of the envelope
    std::string queue, link;
    Waiting waiting = Waiting::connection;
    bool active = false; // in flight: no gate is before it
    std::vector<GateInfo> gates;
    // Earliest, as far as the gates know; {}: when its turn comes, or, if held or paused, not automatically.
    smtp::WallTime next_attempt{};
};

// A remote address that a link has connections to, or waits for.
struct AddressInfo {
    std::string name;
    std::uint32_t connections = 0, own = 0; // of all links; of this one
    std::uint32_t limit = 0;
};

// One failed try of a link.
struct LinkFailure {
    smtp::WallTime time{};
    Phase phase = Phase::connecting;
    Reason reason;
};

struct LinkInfo {
    std::string name;
    std::string pool; // of source addresses; "" none
    bool mx = false, local = false, paused = false, down = false;
    Health health = Health::ready;
    std::uint32_t failures = 0;
    smtp::WallTime next_attempt{}, failing_since{};
    Reason last_error;
    std::uint32_t connections = 0, window = 0, limit = 0;
    std::uint32_t queues = 0, deliveries = 0, in_flight = 0, due = 0;
    std::uint32_t offer = 0;               // what it could hand out now, given the gates of its queues
    std::uint32_t waiting = 0;             // each for its own time, or for its queue's
    Reason last_deferral;                  // … the reason for the last of them; empty: none since startup
    smtp::WallTime oldest{};               // arrival of its oldest message, if requested
    std::string idle_reason;               // why nothing is happening; "" if something is, or there is nothing to do
    std::optional<PausedObject> paused_by; // why nothing happens: this pauses it, or pauses what is due there
    bool at_address_limit = false;         // waits for room at an address
    std::vector<AddressInfo> addresses;
    smtp::Duration transaction{}; // measured
};

// A limit of a link, and where it comes from.
struct LinkLimit {
    std::string name; // of the key: "connections"
    std::uint32_t value = 0;
    std::string setting; // "route.\"example.org\".connections", "queue.connections_mx"
};

struct QueueInfo {
    std::string name, link;
    std::string pool; // of source addresses: its mail's, or its route's; "" none
    bool paused = false, routed = false;
    Health health = Health::ready; // its link's, if that is not ready
    bool of_link = false;          // so are these:
    std::uint32_t failures = 0;
    smtp::WallTime next_attempt{}, failing_since{};
    Reason last_error;
    std::uint32_t deliveries = 0, due = 0, in_flight = 0;
    std::uint32_t problem = 0; // deliveries that have failed too often; complete only if ages were requested
    smtp::WallTime oldest{};
    std::string idle_reason;
    std::optional<PausedObject> paused_by; // it is paused by this
};

// A part of a list of links, or of queues: those with the most deliveries first, equal ones by name.
struct BusiestFirst {
    struct Place {
        std::uint32_t deliveries = 0;
        std::string name;
    };
    std::size_t at_most = 0;
    std::optional<Place> behind; // the list continues behind this place; nothing: from the beginning
};

// The order in which messages are listed, and a message's position in it.
enum class Order : std::uint8_t {
    oldest, // by id
    newest,
    largest,
    next, // by its next try; messages not tried automatically come last
};
struct Rank {
    std::int64_t key = 0;
    std::uint64_t id = 0;
    auto operator<=>(const Rank&) const = default;
};

// Mail that waits without a link: for its next hop, for the categorizer, for its report.
struct Unrouted {
    Gate gate = Gate::route; // or categorizer, report
    std::string queue;       // route: whose next hop it is; "": all that are not named
    std::uint64_t deliveries = 0;
    std::uint32_t failures = 0; // in a row
    smtp::WallTime failing_since{}, next_attempt{};
    Reason reason;           // of the last failure; empty: none so far
    std::string waiting_for; // in plain words
};

// Health of a link or queue that is not ready, kept across a clean restart.
struct HealthSnapshot {
    bool link = false;  // else a queue
    bool route = false; // of a queue: its next hop could not be found; its own health is a separate entry
    std::string name;
    bool mx = false, down = false;
    Health health = Health::ready;
    std::uint32_t failures = 0;
    smtp::WallTime due{}, failing_since{}, retry_since{};
    Reason last_error;
    std::vector<LinkFailure> history;
};

// Finding the oldest messages, and what is due next of mail that waits by itself, means scanning every delivery: a few
// milliseconds per hundred thousand.
enum class Ages : std::uint8_t { no, yes };

struct Counts {
    std::uint64_t messages = 0, deliveries = 0;
    std::uint64_t uncategorized = 0, waiting = 0, due = 0, active = 0, held = 0, reports = 0;
    std::uint64_t links = 0, queues = 0, connections = 0;
    std::uint64_t unlogged = 0; // due, new, and the log has no line of them yet
    // Deliveries by what they wait for; `due` above counts all that are due, these only the ones that nothing blocks.
    std::uint64_t free = 0, scheduled = 0, retrying = 0, paused = 0, routing = 0;
};

} // namespace decide::queue

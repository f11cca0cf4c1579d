// What listings show of the queue's state: copies, safe to keep.
#pragma once
#include "daemons/decide/queue/actions.h"
#include <cstdint>
#include <string>
#include <vector>

namespace decide::queue {

// Where a delivery stands, and the first thing that keeps it there.
enum class Waiting : std::uint8_t {
    categorizer, // to be asked, or asked
    scheduled,   // not before a time the sender chose
    held,
    route,    // its domain is being looked up
    own_time, // its own ladder
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
    std::string queue, link;                 // "" while unknown
    std::vector<RecipientNumber> recipients; // empty: all of the envelope
    std::uint32_t failures = 0;
    bool problem = false;
    smtp::WallTime next_attempt{}; // {}: as soon as its turn comes
    Reason reason;                 // link's, queue's or route's where that is what it waits for; else empty
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

struct LinkInfo {
    std::string name;
    bool mx = false, local = false, paused = false;
    Health health = Health::ready;
    std::uint32_t failures = 0;
    smtp::WallTime next_attempt{}, failing_since{};
    Reason last_error;
    std::uint32_t connections = 0, window = 0, limit = 0;
    std::uint32_t queues = 0, in_flight = 0, due = 0;
    smtp::Duration transaction{}; // measured
};

struct QueueInfo {
    std::string name, link;
    bool paused = false, routed = false;
    Health health = Health::ready;
    std::uint32_t failures = 0;
    smtp::WallTime next_attempt{};
    Reason last_error;
    std::uint32_t deliveries = 0, due = 0, in_flight = 0, problem = 0;
};

struct Counts {
    std::uint64_t messages = 0, deliveries = 0;
    std::uint64_t uncategorized = 0, waiting = 0, due = 0, active = 0, held = 0, reports = 0;
    std::uint64_t links = 0, queues = 0, connections = 0;
};

} // namespace decide::queue

// Every number the queue works with, and its default: the keys of [queue] in the configuration, name for name. A value:
// filled once from the configuration, passed by reference.
#pragma once
#include "libsmtp/text/time_types.h"
#include "libspool/delivery/delivery_facts.h"
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace decide::queue {

struct Ladder {
    // glitch_count - 1 waits of glitch_interval, then retry_count of retry_interval, then
    // retry_interval_after for ever. Each wait is lengthened by 0 to jitter (a fraction), never shortened.
    smtp::Duration glitch_interval = std::chrono::seconds(60);
    std::uint32_t glitch_count = 3;
    smtp::Duration retry_interval = std::chrono::minutes(10);
    std::uint32_t retry_count = 3;
    smtp::Duration retry_interval_after = std::chrono::minutes(15);
    double jitter = 0.10;

    std::uint32_t failures_before_problem = 2; // 0: no problem lane
};

// How a message's own tries follow one another; routes and messages refer to it by name.
struct RetryPolicy {
    using Kind = spool::RetryKind;
    std::string name = {};
    Kind kind = Kind::exchange;
    smtp::Duration base = std::chrono::seconds(5), interval = std::chrono::minutes(5);
    std::uint32_t factor = 2;
    double jitter = 0.20;
    std::uint32_t attempts = 10;            // exponential, fixed: tries in all; 0: until it expires
    std::vector<smtp::Duration> waits = {}; // steps
    bool counts() const { return kind == Kind::steps || (kind != Kind::exchange && attempts != 0); }
    std::uint32_t most() const { return kind == Kind::steps ? static_cast<std::uint32_t>(waits.size()) + 1 : attempts; }
};

// The queueing settings of one [route]; 0 and "": as in [queue].
struct RouteSettings {
    smtp::Duration glitch_interval{}, retry_interval{}, retry_interval_after{};
    std::uint32_t glitch_count = 0, retry_count = 0, failures_before_problem = 0;
    std::uint32_t messages_per_second = 0, messages_per_hour = 0, connections_per_second = 0; // 0: no limit
    bool share_rates = false; // they are limits of all nodes of the fleet together
    std::string retry_policy;
    bool by_backlog = false; // a further connection only for `batch` deliveries more, however long they wait
    // Rejected credentials: mail waits for valid ones, or is returned.
    enum class AuthFailure : std::uint8_t { wait, giving_back } auth_failure = AuthFailure::wait;
    bool operator==(const RouteSettings&) const = default;
};

struct Settings : Ladder {
    std::uint32_t problem_share = 20;                               // at least one delivery in this many is a problem
    smtp::Duration health_evidence = std::chrono::seconds(10);      // a queue that delivered this recently is healthy
    smtp::Duration link_health_evidence = std::chrono::seconds(30); // a link whose connection was useful this recently
    std::uint32_t deaths_before_hold = 3;                           // agents a message may kill, alone in flight

    smtp::Duration local_retry = std::chrono::minutes(5);
    smtp::Duration categorize_retry = std::chrono::minutes(1); // doubling to categorize_retry_max
    smtp::Duration categorize_retry_max = std::chrono::hours(1);
    std::uint32_t max_pending_categorizations = 1000;
    bool recategorize_on_start = false; // ignore what the spool recorded about recipients (the driver's job)
    smtp::Duration routing_retry = std::chrono::minutes(1); // doubling to routing_retry_max
    smtp::Duration routing_retry_max = std::chrono::minutes(15);
    smtp::Duration submit_retry = std::chrono::minutes(5);  // NDRs that could not be submitted
    smtp::Duration requeue_retry = std::chrono::minutes(5); // after an internal error: unreadable now …

    // A configured link in retry for this long is down: its mail takes the route's next one. Two good probes this far
    // apart bring it back up.
    static constexpr smtp::Duration never = smtp::Duration::max(); // of link_down_after
    smtp::Duration link_down_after = std::chrono::minutes(5), link_up_after = std::chrono::minutes(5);
    smtp::Duration reset_routes_retry = std::chrono::minutes(10); // not every route could be looked up again
    smtp::Duration overdue_spread = std::chrono::minutes(1);      // overdue mail at startup is spread over this period

    smtp::Duration expiry = std::chrono::hours(24 * 5);
    smtp::Duration report_expiry = std::chrono::hours(24 * 2); // messages from the null sender
    smtp::Duration delay_notice = std::chrono::hours(4);       // 0: none
    bool soft_bounce = false; // mail neither expires, unless a time was set for it, nor runs out of tries
    smtp::Duration report_gather = std::chrono::seconds(2); // failures of one message within this share an NDR

    std::array<std::uint32_t, 3> lane_weights = {16, 4, 1}; // high, normal, bulk
    std::uint32_t recipients_per_transaction = 100;

    std::uint32_t batch = 20;                                     // deliveries handed to one connection at a time
    smtp::Duration drain_target = std::chrono::milliseconds(500); // add a connection if the open ones need longer
    std::uint32_t window_start = 5;                               // connections of an MX link before any success
    std::uint32_t window_start_route = 50;      // of a configured route: half of what its operator allows it
    std::uint32_t connections_mx = 20;          // per link whose hosts come from MX records
    std::uint32_t connections_route = 100;      // per link of a configured route
    std::uint32_t connections_per_address = 20; // of MX links, to one remote address, whichever links use it
    std::uint32_t connections_local = 10;       // local deliveries at a time
    std::uint32_t connections_per_user = 2;     // of these, commands of one user
    std::uint32_t connections_total = 1000;
    std::uint32_t link_share = 5; // while others wait, no link holds more than 1/link_share of the total
    std::uint32_t messages_per_connection = 100;
    smtp::Duration connection_idle = std::chrono::seconds(3);
    smtp::Duration push_back_pause = std::chrono::seconds(1); // no further connection of the link for this long

    // A message not finished by then leaves incoming/ for messages/.
    smtp::Duration settle_after = std::chrono::seconds(2);
    // A link or queue with nothing to do and nothing to remember is forgotten after this.
    smtp::Duration forget_after = std::chrono::minutes(10);

    // Routes may share their rates with other nodes; how many these are, if nothing else is known.
    bool in_fleet = false;
    std::uint32_t expected_nodes = 0;

    std::map<std::string, RouteSettings, std::less<>> routes; // by pattern
    std::vector<RetryPolicy> policies;
};

} // namespace decide::queue

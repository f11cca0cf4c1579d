// Every number the queue works by, with its default: the keys of [queue] in the configuration, name for name.
// A value: filled once from the configuration, passed by reference. Per-route values come with the policies.
#pragma once
#include "libsmtp/time.h"
#include <array>
#include <chrono>
#include <cstdint>

namespace decide::queue {

struct Settings {
    // The ladder: glitch_count - 1 waits of glitch_interval, then retry_count of retry_interval, then
    // retry_interval_after for ever. Each wait is lengthened by 0 to jitter (a fraction), never shortened.
    smtp::Duration glitch_interval = std::chrono::seconds(60);
    std::uint32_t glitch_count = 3;
    smtp::Duration retry_interval = std::chrono::minutes(10);
    std::uint32_t retry_count = 3;
    smtp::Duration retry_interval_after = std::chrono::minutes(15);
    double jitter = 0.10;

    std::uint32_t failures_before_problem = 2; // 0: no problem lane
    std::uint32_t problem_share = 20;          // at least one delivery in so many is a problem message
    smtp::Duration health_evidence =
        std::chrono::seconds(10); // a queue that delivered so recently is healthy
    smtp::Duration link_health_evidence =
        std::chrono::seconds(30);         // a link whose connection was useful so recently
    std::uint32_t deaths_before_hold = 3; // agents a message may kill, alone in flight

    smtp::Duration local_retry = std::chrono::minutes(5);
    smtp::Duration categorize_retry = std::chrono::minutes(1); // doubling to categorize_retry_max
    smtp::Duration categorize_retry_max = std::chrono::hours(1);
    std::uint32_t max_pending_categorizations = 1000;
    smtp::Duration routing_retry = std::chrono::minutes(1); // doubling to routing_retry_max
    smtp::Duration routing_retry_max = std::chrono::hours(1);
    smtp::Duration submit_retry = std::chrono::minutes(5);  // NDRs that could not be submitted
    smtp::Duration requeue_retry = std::chrono::minutes(5); // after an internal error: unreadable now …

    smtp::Duration expiry = std::chrono::hours(24 * 5);
    smtp::Duration report_expiry = std::chrono::hours(24 * 2); // messages from the null sender
    smtp::Duration delay_notice = std::chrono::hours(4);       // 0: none
    smtp::Duration report_gather =
        std::chrono::seconds(2); // failures of one message within this share an NDR

    std::array<std::uint32_t, 3> lane_weights = {16, 4, 1}; // high, normal, bulk
    std::uint32_t recipients_per_transaction = 100;

    std::uint32_t batch = 20; // deliveries handed to one connection at a time
    smtp::Duration drain_target =
        std::chrono::milliseconds(500);    // a connection more when the open ones need longer
    std::uint32_t window_start = 5;        // connections of an MX link before any success
    std::uint32_t window_start_route = 20; // of a configured route, which is nobody's surprise
    std::uint32_t connections_mx = 20;     // per link whose hosts come from MX records
    std::uint32_t connections_route = 100; // per link of a configured route
    std::uint32_t connections_local = 10;  // local deliveries at a time
    std::uint32_t connections_total = 1000;
    std::uint32_t link_share = 5; // while others wait, no link holds more than 1/link_share of the total
    std::uint32_t messages_per_connection = 100;
    smtp::Duration connection_idle = std::chrono::seconds(3);
    smtp::Duration push_back_pause = std::chrono::seconds(1); // no further connection of the link for so long

    // A message not finished by then leaves incoming/ for messages/.
    smtp::Duration settle_after = std::chrono::seconds(2);
    // A link or queue with nothing to do and nothing to remember is forgotten after this.
    smtp::Duration forget_after = std::chrono::minutes(10);
};

} // namespace decide::queue

// Everything Postrider counts and measures, once: its name in Prometheus, its meaning, its labels and
// their possible values. All label sets are closed, so that every value has a fixed cell, whose number is
// known to the process that counts and to the one that exports (both are of one build). Metrics of links,
// whose names are not known in advance, have a table of their own. Knows no daemon and no process.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

namespace common {

// clang-format off
enum class MetricId : std::uint8_t {
    // mail comes in
    messages_accepted, recipients_accepted, bytes_accepted, commit_seconds, sync_seconds,
    sessions, sessions_open, session_ends, rejects, client_tests, access_results,
    verification_answers, verification_checks, verified_addresses, tls_sessions, tls_failures, authentications,
    lockouts, content_memory, listeners, http_lockouts,
    // mail goes out
    deliveries, delay_seconds, delay_stage_seconds, connections, client_tls_sessions, source_refusals,
    messages_removed, messages_expired, transfers, transfers_in_doubt,
    // the fleet
    fleet_store_away, fleet_calls, fleet_call_seconds, fleet_nodes, fleet_changes, fleet_changes_waiting,
    fleet_keys,
    fleet_tokens,
    // the queue
    queue_loading, queue_messages, queue_deliveries, queue_connections, queue_oldest_age, queue_links, queue_links_failing,
    accepting, delivering, spool_free_bytes, spool_size_bytes, spool_free_inodes,
    put_aside_bytes, put_aside_removed,
    // the journal
    journal_events, journal_events_lost, journal_sync_seconds, journal_waiting, journal_unindexed,
    // the processes
    processes, restarts, crashes, memory, cpu_seconds, log_lines, log_lines_lost,
    scrapes, late_answers,
    last_ = late_answers,
};
// clang-format on

// The values of labels, in the order the registry names them.
enum class MailSource : std::uint8_t { smtp, local, report };
enum class SessionEnd : std::uint8_t { quit, lost, timeout, errors, other };
enum class RejectStage : std::uint8_t { connect, helo, mail, rcpt, data, message, auth, other };
enum class RejectClass : std::uint8_t { temporary, permanent };
enum class ClientTestResult : std::uint8_t {
    passed,
    remembered,
    allowed,
    denied,
    early_talk,
    dns_list,
    pipelining,
    non_smtp,
    bare_newline,
    hung_up,
    busy
};
enum class AccessResult : std::uint8_t { passed, rejected, deferred, discarded, held, redirected };
enum class TlsUsed : std::uint8_t { tls_1_2, tls_1_3, other };
enum class AuthResult : std::uint8_t { succeeded, failed, unavailable };
enum class LockoutTarget : std::uint8_t { user, network };
enum class Transport : std::uint8_t { smtp, lmtp, local, none };
enum class DeliveryOutcome : std::uint8_t { delivered, deferred, bounced };
enum class DelayStage : std::uint8_t { before_queue, in_queue, connection, transmission };
enum class ConnectionResult : std::uint8_t { made, failed };
enum class RefusedStage : std::uint8_t { connection, mail };
enum class StoreCallResult : std::uint8_t { answered, refused, failed };
enum class NodePresence : std::uint8_t { present, silent };
enum class SharedKeyResult : std::uint8_t { new_key, duplicate, busy, refused, taken_alone };
enum class ChangeDirection : std::uint8_t { sent, received };
enum class QueueState : std::uint8_t { uncategorized, scheduled, held, paused, routing, retrying, due, active, report };
enum class SetAsideDirectory : std::uint8_t { bad, quarantine, incomplete, removed, failed };
enum class LogSeverity : std::uint8_t { info, warning, error, critical };

TlsUsed tls_used(std::string_view version); // "TLSv1.3" …

enum class MetricType : std::uint8_t { counter, gauge, histogram };
enum class MetricUnit : std::uint8_t { number, microseconds }; // of the cell; times are shown in seconds

struct MetricLabel {
    std::string_view name;
    std::span<const std::string_view> values; // "": a series that is neither counted nor shown
};

struct MetricDefinition {
    MetricId family;
    std::string_view name; // "postrider_messages_accepted_total"
    MetricType type;
    MetricUnit unit;
    std::string_view help;     // one sentence
    MetricLabel first, second; // no name: no such label

    std::size_t series() const;       // combinations of label values
    std::size_t cells_of_one() const; // a histogram: one for each bucket, the last one without a bound, and the sum
};

// In the order of their numbers.
std::span<const MetricDefinition> metric_registry();
inline const MetricDefinition& definition_of(MetricId family) {
    return metric_registry()[static_cast<std::size_t>(family)];
}

// Upper bounds of a histogram's buckets, µs; followed by one more without a bound.
std::span<const std::int64_t> histogram_bounds();

// The first cell of the series with these label values; and of the family's first series.
std::size_t cell_of(MetricId family, std::initializer_list<std::size_t> labels);
std::size_t first_cell(MetricId family);
std::size_t all_cells();

} // namespace common

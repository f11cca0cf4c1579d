#include "daemons/common/logging/metrics/registry.h"
#include "daemons/common/proto/hello.h"
#include <array>
#include <cassert>

namespace common {

namespace {

constexpr std::size_t families = static_cast<std::size_t>(MetricId::last_) + 1;
constexpr std::size_t roles = static_cast<std::size_t>(proto::Role::last_) + 1;

constexpr std::string_view sources[] = {"smtp", "local", "report"};
constexpr std::string_view endings[] = {"quit", "lost", "timeout", "errors", "other"};
constexpr std::string_view stages[] = {"connect", "helo", "mail", "rcpt", "data", "message", "auth", "other"};
constexpr std::string_view kinds[] = {"temporary", "permanent"};
constexpr std::string_view client_tests[] = {"passed",       "remembered", "allowed",    "denied",
                                             "early_talk",   "dns_list",   "pipelining", "non_smtp",
                                             "bare_newline", "hung_up",    "busy"};
constexpr std::string_view access_results[] = {"passed", "rejected", "deferred", "discarded", "held", "redirected"};
constexpr std::string_view deliverabilities[] = {"unknown", "deliverable", "undeliverable", "unreachable"};
constexpr std::string_view tls_versions[] = {"TLSv1.2", "TLSv1.3", "other"};
constexpr std::string_view auth_results[] = {"succeeded", "failed", "unavailable"};
constexpr std::string_view locked_out[] = {"user", "network"};
constexpr std::string_view transports[] = {"smtp", "lmtp", "local", "none"};
constexpr std::string_view outcomes[] = {"delivered", "deferred", "bounced"};
constexpr std::string_view delay_stages[] = {"before_queue", "in_queue", "connection", "transmission"};
constexpr std::string_view connection_results[] = {"made", "failed"};
constexpr std::string_view refused[] = {"connection", "mail"};
constexpr std::string_view store_call_results[] = {"answered", "refused", "failed"};
constexpr std::string_view node_presence[] = {"present", "silent"};
constexpr std::string_view shared_key_results[] = {"new", "duplicate", "busy", "refused", "taken_alone"};
constexpr std::string_view change_directions[] = {"sent", "received"};
constexpr std::string_view transfer_results[] = {"moved", "refused", "failed", "kept"};
constexpr std::string_view states[] = {"uncategorized", "scheduled", "held",   "paused", "routing",
                                       "retrying",      "due",       "active", "report"};
constexpr std::string_view asides[] = {"bad", "quarantine", "incomplete", "removed", "failed"};
constexpr std::string_view severities[] = {"info", "warning", "error", "critical"};
constexpr auto role_names = [] {
    std::array<std::string_view, roles> out{};
    for (std::size_t i = 0; i < roles; ++i) out[i] = proto::name_of(static_cast<proto::Role>(i));
    out[static_cast<std::size_t>(proto::Role::master)] = ""; // it reports no metrics
    return out;
}();

constexpr auto counter = MetricType::counter;
constexpr auto gauge = MetricType::gauge;
constexpr auto histogram = MetricType::histogram;
constexpr auto number = MetricUnit::number;
constexpr auto microseconds = MetricUnit::microseconds;
constexpr MetricLabel process{"process", role_names};

// clang-format off
constexpr MetricDefinition all[] = {
    {MetricId::messages_accepted, "postrider_messages_accepted_total", counter, number,
     "Messages accepted into the spool, by source.", {"source", sources}, {}},
    {MetricId::recipients_accepted, "postrider_recipients_accepted_total", counter, number,
     "Recipients of the messages accepted into the spool, before alias expansion.", {"source", sources}, {}},
    {MetricId::bytes_accepted, "postrider_accepted_bytes_total", counter, number,
     "Bytes of content of the messages accepted into the spool.", {"source", sources}, {}},
    {MetricId::commit_seconds, "postrider_spool_commit_seconds", histogram, microseconds,
     "Time from the end of a message until it was on stable storage.", {}, {}},
    {MetricId::sync_seconds, "postrider_spool_sync_seconds", histogram, microseconds,
     "Time taken by syncs of the spool's files and directories.", {}, {}},
    {MetricId::sessions, "postrider_smtpd_sessions_total", counter, number, "SMTP sessions begun by clients.", {}, {}},
    {MetricId::sessions_open, "postrider_smtpd_sessions", gauge, number, "Open SMTP sessions of clients.", {}, {}},
    {MetricId::session_ends, "postrider_smtpd_session_ends_total", counter, number,
     "SMTP sessions of clients, by how they ended.", {"end", endings}, {}},
    {MetricId::rejects, "postrider_smtpd_rejects_total", counter, number,
     "Rejections with a reject line in the log, by command and by class: temporary (4xx) or permanent (5xx).",
     {"stage", stages}, {"kind", kinds}},
    {MetricId::client_tests, "postrider_smtpd_client_tests_total", counter, number,
     "Results of tests of clients ([client_tests]): clients that passed, were remembered, allowed or denied by a list, "
     "failed a test, left before the end or found too many others waiting.", {"result", client_tests}, {}},
    {MetricId::access_results, "postrider_smtpd_access_results_total", counter, number,
     "Evaluations of access rules, for a recipient or another stage of a session, by result.", {"result", access_results}, {}},
    {MetricId::verification_answers, "postrider_verification_answers_total", counter, number,
     "Answers to SMTP servers whether an address is deliverable, from memory or after a check.",
     {"result", deliverabilities}, {}},
    {MetricId::verification_checks, "postrider_verification_checks_total", counter, number,
     "Checks of addresses by asking a server that receives their mail, by result; unknown: it could not be asked now.",
     {"result", deliverabilities}, {}},
    {MetricId::verified_addresses, "postrider_verified_addresses", gauge, number,
     "Addresses whose verification is remembered.", {}, {}},
    {MetricId::tls_sessions, "postrider_smtpd_tls_sessions_total", counter, number,
     "Successful TLS handshakes with clients.", {"version", tls_versions}, {}},
    {MetricId::tls_failures, "postrider_smtpd_tls_failures_total", counter, number,
     "Failed TLS handshakes with clients.", {}, {}},
    {MetricId::authentications, "postrider_smtpd_authentications_total", counter, number,
     "AUTH attempts by clients, by result.", {"result", auth_results}, {}},
    {MetricId::lockouts, "postrider_smtpd_lockouts_total", counter, number,
     "Lock-outs caused by wrong passwords: of one user from a network, or of all users there.",
     {"scope", locked_out}, {}},
    {MetricId::content_memory, "postrider_content_memory_bytes", gauge, number,
     "Memory held for messages being received, in all writing processes together (spool.content_memory is the "
     "limit for each).",
     {}, {}},
    {MetricId::listeners, "postrider_smtpd_listeners", gauge, number,
     "Listening sockets on which SMTP servers accept connections, in all their processes together.", {}, {}},
    {MetricId::http_lockouts, "postrider_http_lockouts_total", counter, number,
     "Networks locked out of the API because of invalid tokens.", {}, {}},
    {MetricId::deliveries, "postrider_deliveries_total", counter, number,
     "Attempts to deliver to a recipient, by outcome; a deferred recipient is counted again at its next attempt.",
     {"transport", transports}, {"outcome", outcomes}},
    {MetricId::delay_seconds, "postrider_delay_seconds", histogram, microseconds,
     "Time from the arrival of a message to the delivery to a recipient.", {}, {}},
    {MetricId::delay_stage_seconds, "postrider_delay_stage_seconds", histogram, microseconds,
     "The delay in parts, as in delays=a/b/c/d in the log.", {"stage", delay_stages}, {}},
    {MetricId::connections, "postrider_client_connections_total", counter, number,
     "Connections to next hops, by result.", {"result", connection_results}, {}},
    {MetricId::client_tls_sessions, "postrider_client_tls_sessions_total", counter, number,
     "Successful TLS handshakes with next hops.", {"version", tls_versions}, {}},
    {MetricId::source_refusals, "postrider_client_source_refusals_total", counter, number,
     "Rejections of a source address of a pool by next hops.", {"what", refused}, {}},
    {MetricId::messages_removed, "postrider_messages_removed_total", counter, number,
     "Messages that left the queue with all deliveries and reports done.", {}, {}},
    {MetricId::messages_expired, "postrider_messages_expired_total", counter, number,
     "Messages returned to their senders because they expired.", {}, {}},
    {MetricId::transfers, "postrider_transfers_total", counter, number,
     "Moves of messages to other nodes that have ended, by result: refused by the node or canceled, failed for now, or "
     "kept because the message was being delivered.",
     {"result", transfer_results}, {}},
    {MetricId::transfers_in_doubt, "postrider_transfers_in_doubt", gauge, number,
     "Messages that another node may have or not: they wait until it answers.", {}, {}},
    {MetricId::fleet_store_away, "postrider_fleet_store_away", gauge, number,
     "1 while the store of the fleet cannot be used and this node works alone.", {}, {}},
    {MetricId::fleet_calls, "postrider_fleet_calls_total", counter, number,
     "Calls of the store of the fleet, by result: refused with an error, or failed without an answer.",
     {"result", store_call_results}, {}},
    {MetricId::fleet_call_seconds, "postrider_fleet_call_seconds", histogram, microseconds,
     "Time until the store of the fleet answered.", {}, {}},
    {MetricId::fleet_nodes, "postrider_fleet_nodes", gauge, number,
     "Nodes of the fleet that this node knows, by presence.", {"presence", node_presence}, {}},
    {MetricId::fleet_changes, "postrider_fleet_changes_total", counter, number,
     "Changes of the suppression list that were sent to the store of the fleet, or received from it.",
     {"direction", change_directions}, {}},
    {MetricId::fleet_changes_waiting, "postrider_fleet_changes_waiting", gauge, number,
     "Changes of the suppression list that the store of the fleet has yet to get.", {}, {}},
    {MetricId::fleet_keys, "postrider_fleet_keys_total", counter, number,
     "Idempotency keys that were compared with those of the other nodes, by result: refused or taken alone because the "
     "store of the fleet could not be asked.",
     {"result", shared_key_results}, {}},
    {MetricId::fleet_tokens, "postrider_fleet_tokens_total", counter, number,
     "Messages and connections that the store of the fleet let this node begin, by rates that all nodes share.", {}, {}},
    {MetricId::queue_loading, "postrider_queue_loading", gauge, number,
     "1 while the spool is being read at startup; the queue is then larger than shown.", {}, {}},
    {MetricId::queue_messages, "postrider_queue_messages", gauge, number, "Messages in the queue.", {}, {}},
    {MetricId::queue_deliveries, "postrider_queue_deliveries", gauge, number,
     "Deliveries in the queue, by what they wait for; for held, uncategorized and report, the number of messages.",
     {"state", states}, {}},
    {MetricId::queue_connections, "postrider_queue_connections", gauge, number,
     "Connections to next hops that are open or being established.", {}, {}},
    {MetricId::queue_oldest_age, "postrider_queue_oldest_age_seconds", gauge, microseconds,
     "Age of the oldest message in the queue; 0 if it is empty.", {}, {}},
    {MetricId::queue_links, "postrider_queue_links", gauge, number, "Links that are currently known.", {}, {}},
    {MetricId::queue_links_failing, "postrider_queue_links_failing", gauge, number,
     "Failing links: their last attempt failed, or they are down.", {}, {}},
    {MetricId::accepting, "postrider_accepting", gauge, number, "1 while new mail is accepted.", {}, {}},
    {MetricId::delivering, "postrider_delivering", gauge, number, "1 while mail is delivered.", {}, {}},
    {MetricId::spool_free_bytes, "postrider_spool_free_bytes", gauge, number,
     "Free space on the spool's file system.", {}, {}},
    {MetricId::spool_size_bytes, "postrider_spool_size_bytes", gauge, number, "Size of the spool's file system.", {}, {}},
    {MetricId::spool_free_inodes, "postrider_spool_free_inodes", gauge, number,
     "Free inodes on the spool's file system; 0 if it does not count them.", {}, {}},
    {MetricId::put_aside_bytes, "postrider_retained_bytes", gauge, number,
     "Disk space used by bad/, quarantine/, quarantine/incomplete/, removed/ (messages removed by operators), and "
     "failed/ (history.keep_failed).",
     {"directory", asides}, {}},
    {MetricId::put_aside_removed, "postrider_retained_deleted_total", counter, number,
     "Files deleted from bad/, quarantine/, quarantine/incomplete/, removed/ and failed/ because they were too old or "
     "together exceeded the size limit.",
     {"directory", asides}, {}},
    {MetricId::journal_events, "postrider_journal_events_total", counter, number,
     "Events of the journal on stable storage.", {}, {}},
    {MetricId::journal_events_lost, "postrider_journal_lost_events_total", counter, number,
     "Events that could not be written; an event journal.gap names them later.", {}, {}},
    {MetricId::journal_sync_seconds, "postrider_journal_sync_seconds", histogram, microseconds,
     "Time to write and sync the events gathered since the last time.", {}, {}},
    {MetricId::journal_waiting, "postrider_journal_waiting_messages", gauge, number,
     "Finished messages that stay in the spool until their events are on stable storage.", {}, {}},
    {MetricId::journal_unindexed, "postrider_journal_unindexed_segments", gauge, number,
     "Complete segments of the journal that are not yet compressed and indexed.", {}, {}},
    {MetricId::processes, "postrider_processes", gauge, number,
     "Processes that answer, by program.", process, {}},
    {MetricId::restarts, "postrider_process_restarts_total", counter, number,
     "Processes that ended unexpectedly and were restarted.", process, {}},
    {MetricId::crashes, "postrider_process_crashes_total", counter, number,
     "Restarts after a crash: a signal that no process sent, or a failed assertion.", process, {}},
    {MetricId::memory, "postrider_process_resident_memory_bytes", gauge, number,
     "Resident memory of all processes of a program together.", process, {}},
    {MetricId::cpu_seconds, "postrider_process_cpu_seconds_total", counter, microseconds,
     "Processor time of all processes of a program together.", process, {}},
    {MetricId::log_lines, "postrider_log_lines_total", counter, number, "Log lines by severity.",
     {"severity", severities}, {}},
    {MetricId::log_lines_lost, "postrider_log_lines_lost_total", counter, number,
     "Log lines lost because they could not be written fast enough.", {}, {}},
    {MetricId::scrapes, "postrider_scrapes_total", counter, number, "Collections of metrics from all processes.", {}, {}},
    {MetricId::late_answers, "postrider_scrape_late_answers_total", counter, number,
     "Processes that did not answer a collection in time; their previous gauges are shown.", process, {}},
};
// clang-format on
static_assert(std::size(all) == families);
static_assert([] {
    for (std::size_t i = 0; i < families; ++i)
        if (static_cast<std::size_t>(all[i].family) != i) return false;
    return true;
}());

constexpr std::int64_t bounds[] = {1'000,       5'000,         10'000,        50'000,        100'000,
                                   500'000,     1'000'000,     5'000'000,     10'000'000,    60'000'000,
                                   300'000'000, 1'800'000'000, 7'200'000'000, 86'400'000'000};

constexpr std::size_t extent(const MetricLabel& label) { return label.name.empty() ? 1 : label.values.size(); }
constexpr std::size_t series_of(const MetricDefinition& f) { return extent(f.first) * extent(f.second); }
constexpr std::size_t cells_of(const MetricDefinition& f) {
    return f.type == MetricType::histogram ? std::size(bounds) + 2 : 1;
}

// Where each family's cells begin; behind them, how many there are.
constexpr auto beginnings = [] {
    std::array<std::size_t, families + 1> out{};
    for (std::size_t i = 0; i < families; ++i) out[i + 1] = out[i] + series_of(all[i]) * cells_of(all[i]);
    return out;
}();

} // namespace

TlsUsed tls_used(std::string_view version) {
    return version == "TLSv1.2" ? TlsUsed::tls_1_2 : version == "TLSv1.3" ? TlsUsed::tls_1_3 : TlsUsed::other;
}

std::size_t MetricDefinition::series() const { return series_of(*this); }
std::size_t MetricDefinition::cells_of_one() const { return cells_of(*this); }
std::span<const MetricDefinition> metric_registry() { return all; }
std::span<const std::int64_t> histogram_bounds() { return bounds; }

std::size_t cell_of(MetricId family, std::initializer_list<std::size_t> labels) {
    const auto place = static_cast<std::size_t>(family);
    const auto& description = all[place];
    assert(labels.size() == !description.first.name.empty() + 0u + !description.second.name.empty());
    std::size_t series = 0;
    const MetricLabel* label = &description.first;
    for (const auto value : labels) {
        assert(value < label->values.size());
        series = series * label->values.size() + value;
        label = &description.second;
    }
    return beginnings[place] + series * cells_of(description);
}

std::size_t first_cell(MetricId family) { return beginnings[static_cast<std::size_t>(family)]; }
std::size_t all_cells() { return beginnings.back(); }

} // namespace common

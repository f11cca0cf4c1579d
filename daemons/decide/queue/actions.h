// What the engine wants done. The driver carries out these actions in order, after each call and before the next one:
// views point into the engine and live until its next call.
#pragma once
#include "daemons/decide/queue/events.h"
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

namespace decide::queue {

// A run of Actions::numbers.
struct Numbers {
    std::uint32_t first = 0, count = 0;
};

struct AskCategorizer {
    spool::QueueId id;
    Numbers numbers; // which recipients; count 0: all of the envelope
};

struct AskRoute {
    std::string_view domain;
    std::string_view pool; // that the mail names; "" none
};

// Which of these recipients are suppressed? Answered by SuppressionsKnown; until then the delivery stays here.
struct AskSuppressions {
    DeliveryId delivery = 0;
    spool::QueueId id;
    spool::Location location = spool::Location::incoming;
    Numbers numbers;
};

// May this node begin that many at the link, with that gap between them? Answered by TokensGranted.
struct AskTokens {
    std::uint64_t number = 0; // of the answer
    std::string_view link;
    SharedRate rate = SharedRate::messages;
    smtp::Duration gap{};
    std::uint32_t count = 0;
};

struct OpenConnection {
    AgentId agent = 0;
    ConnectionId connection = 0;
    std::string_view link;   // the driver knows its hosts from Routed; "local" for the local store
    std::string_view domain; // of the queue it is opened for; "" a probe without mail
};

struct Deliver {
    AgentId agent = 0;
    ConnectionId connection = 0;
    DeliveryId delivery = 0;
    spool::QueueId id;
    spool::Location location = spool::Location::incoming;
    smtp::WallTime arrival{}; // when accepted
    smtp::WallTime queued{};  // when its wait for a connection began
    Numbers numbers;
    std::string_view domain; // whose route it goes by
    bool secure = false;     // as Routed said of the destination
};

struct CloseConnection {
    AgentId agent = 0;
    ConnectionId connection = 0;
};

// What was handed to this connection and has not been started comes back (Returned).
struct Recall {
    AgentId agent = 0;
    ConnectionId connection = 0;
};

// This delivery must end, unless all of its content has been sent: it comes back, or is Done.
struct CancelDelivery {
    AgentId agent = 0;
    ConnectionId connection = 0;
    DeliveryId delivery = 0;
    spool::QueueId id;
};

// ---- property records (need no sync, unless noted) ----

// These recipients were tried and wait. Counters as of now, to be restored after a restart.
struct RecordDeferral {
    spool::QueueId id;
    Numbers numbers;
    std::uint32_t failures = 0;
    std::uint32_t message_failures = 0;
    bool problem = false;
    smtp::WallTime next_attempt{};
    std::uint32_t reason = 0; // index into Actions::reasons
};

enum class Finish : std::uint8_t { delivered, failed, discarded, expired };

// These recipients are accounted for. For failures this follows Reported; for deliveries it is emitted at once, and
// RecordReported follows if a report was due. Not emitted for the last recipients of a message if no report is due: the
// same event emits Remove, which covers them.
struct RecordOutcome {
    spool::QueueId id;
    Numbers numbers;
    Finish finish = Finish::delivered;
    spool::QueueId report_id; // {}: none
};

struct RecordSuspect { // an agent crashed with it in flight; durable soon: the next try may kill again
    spool::QueueId id;
    Numbers numbers;
    std::uint32_t deaths = 0; // alone in flight
};

struct RecordHeld { // poison: held, never retried automatically (log it)
    spool::QueueId id;
    std::uint32_t deaths = 0;
};

struct RecordDelayNotice {
    spool::QueueId id;
};

// For recipients that did not fail: their senders have been notified, or need not be.
struct RecordReported {
    spool::QueueId id;
    Numbers numbers;
    spool::QueueId report_id; // {}: none
};

// ---- messages ----

struct MakeReport {
    std::uint64_t request = 0;
    spool::QueueId id;
    spool::Location location = spool::Location::incoming;
    ReportKind kind = ReportKind::failed;
    std::vector<ReportRecipient> recipients;
    smtp::WallTime retry_until{}; // delayed
};

struct MoveToMessages { // it has to wait: rename out of incoming/ when convenient; Deliver says `messages`
                        // from now
    spool::QueueId id;
};

struct Remove { // every recipient is accounted for: unlink, log "removed"
    spool::QueueId id;
    spool::Location location = spool::Location::incoming;
};

// ---- for the log and history ----

struct NoticeActive { // "from=<…>, size=, nrcpt= (queue active)"
    spool::QueueId id;
};

struct NoticeExpired { // "from=<…>, status=expired, returned to sender"
    spool::QueueId id;
    GateWaits waits; // since its last try, or since it was free to go
};

// Discarded by decision of the categorizer: log "to=<…>, relay=none … status=sent" for these. Emitted when Categorized
// is processed, whatever happens to the rest of the message.
struct NoticeDiscarded {
    spool::QueueId id;
    Numbers numbers;
};

// Newly accepted, but not tried at once because their link or queue is backing off after a failure: log "to=<…>,
// relay=none … status=deferred (delivery temporarily suspended: …)" for these. Emitted once; under a named policy, for
// each try that counts although it is not made.
struct NoticeSuspended {
    spool::QueueId id;
    Numbers numbers;
    std::uint32_t reason = 0; // of the last failure: index into Actions::reasons
};

// No agent tried because the domain has no next hop: log "to=<…>, relay=none …" for these. If a queue waits for its
// route, only the recipients that the lookup was made for are named.
struct NoticeUndelivered {
    spool::QueueId id;
    Numbers numbers;
    Outcome outcome = Outcome::deferred; // deferred, failed
    std::string_view queue;
    std::uint32_t reason = 0; // index into Actions::reasons
};

enum class Health : std::uint8_t { ready, glitch, retry, last_ = retry };

// The name used in logs and listings.
constexpr std::string_view word_of(Health health) {
    constexpr std::string_view words[] = {"ready", "glitch", "retry"};
    return words[static_cast<std::size_t>(health)];
}

struct NoticeLink {
    std::string_view link;
    Health health = Health::ready;
    std::uint32_t failures = 0; // in a row
    std::uint32_t event = 0;    // 4000: DNS or connecting; 4001: in the session; 0: none
    std::uint32_t due = 0;      // deliveries, that wait now
    bool changed = false;       // its health is another one than before
    smtp::WallTime next_attempt{};
    const Reason* reason = nullptr;
};

struct NoticeQueue {
    std::string_view queue;
    Health health = Health::ready;
    std::uint32_t failures = 0;
    std::uint32_t event = 0;
    std::uint32_t due = 0; // deliveries, that wait now
    bool changed = false;  // its health, or that of its route, is another one than before
    smtp::WallTime next_attempt{};
    const Reason* reason = nullptr;
};

// The router must be informed: mail takes another route if there is one, or moves back.
struct LinkState {
    std::string_view link;
    bool down = false;
};

// Routes were requested again because a link went down or came up (log it: event 4005).
struct NoticeReset {
    std::uint32_t queues = 0, moved = 0;
    smtp::Duration elapsed{};
};

struct RecordPolicy { // the values of its retry policy (the route's, mostly), as the message begins to wait
    spool::QueueId id;
    const RetryPolicy* policy = nullptr;
};

struct LinkForgotten { // no queue uses it any longer: its hosts may be dropped
    std::string_view link;
};

struct DomainForgotten { // no mail for it for a long time: what the router returned for it may be dropped
    std::string_view domain;
};

using Action =
    std::variant<AskCategorizer, AskRoute, AskSuppressions, AskTokens, OpenConnection, Deliver, CloseConnection, Recall,
                 CancelDelivery, RecordDeferral, RecordOutcome, RecordSuspect, RecordHeld, RecordDelayNotice,
                 RecordReported, MakeReport, MoveToMessages, Remove, NoticeActive, NoticeExpired, NoticeDiscarded,
                 NoticeSuspended, NoticeUndelivered, NoticeLink, NoticeQueue, LinkState, NoticeReset, RecordPolicy,
                 LinkForgotten, DomainForgotten>;

struct Actions {
    std::vector<Action> list;
    std::vector<RecipientNumber> numbers;
    std::vector<Reason> reasons;

    std::span<const RecipientNumber> of(Numbers run) const { return std::span(numbers).subspan(run.first, run.count); }
    void clear() {
        list.clear();
        numbers.clear();
        reasons.clear();
    }
};

} // namespace decide::queue

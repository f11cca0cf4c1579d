// What the engine is notified of. Plain values; views need to live only as long as the call. The driver (queue-manager)
// makes them from the hand-off messages and the spool; the engine knows neither.
#pragma once
#include "daemons/decide/hosts/route_kind.h"
#include "daemons/decide/outcome/failure.h"
#include "daemons/decide/queue/rates/rate_lease.h"
#include "daemons/decide/queue/settings.h"
#include "libsmtp/delivery/outcome.h"
#include "libsmtp/delivery/remote_reply.h"
#include "libsmtp/delivery/stage.h"
#include "libsmtp/dsn/report_kind.h"
#include "libsmtp/protocol/deliver_by.h"
#include "libsmtp/text/time_types.h"
#include "libspool/delivery/delivery_facts.h"
#include "libspool/delivery/report_recipient.h"
#include "libspool/format/layout.h"
#include "libspool/format/queue_id.h"
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace decide::queue {

using decide::RouteKind;
using smtp::Outcome;
using smtp::ReportKind;
using spool::Fate;
using spool::ReportRecipient;
using spool::SuccessReport;
using spool::Trace;

using RecipientNumber = std::uint32_t; // place in spool::MessageState::recipients
using AgentId = std::uint32_t;         // the driver's number for a connected agent
using ConnectionId = std::uint64_t;    // the engine's
using DeliveryId = std::uint64_t;      // the engine's

// For how many seconds mail that was due waited because of others.
struct GateWaits {
    std::uint32_t pause = 0; // of an operator
    std::uint32_t link = 0;  // its link or queue backed off
    bool operator==(const GateWaits&) const = default;
};

enum class Lane : std::uint8_t { high, normal, bulk, last_ = bulk };

// Why a recipient, a queue or a link waits or failed. Carried from a result to records, reports and listings.
using Reason = smtp::RemoteReply;

// Does the reply also ask for fewer connections (421, 452, 4.7.x after EHLO)?
enum class PushBack : std::uint8_t { no, yes };

// ---- messages ----

// What the spool holds about one recipient that was tried before.
struct RestoredRecipient {
    RecipientNumber number = 0;
    std::uint32_t failures = 0;         // steps taken on its own retry schedule
    std::uint32_t message_failures = 0; // those that count towards the problem lane
    std::uint32_t deaths = 0;           // agents that died with it alone in flight
    bool suspect = false;               // was in flight in a crashed agent: next try alone
    bool problem = false;
    smtp::WallTime next_attempt{}; // {}: now
};

enum class Sender : std::uint8_t { ordinary, null }; // null: an NDR, expires sooner, never gets reports

// Whether the message could have been logged before.
enum class Origin : std::uint8_t { submitted, recovered };

// A message is durable and ours: newly submitted, or found in the spool.
struct Accepted {
    spool::QueueId id;
    spool::Location location = spool::Location::incoming;
    std::uint64_t size = 0;
    smtp::WallTime arrival{};
    smtp::WallTime not_before{}; // {}: now
    smtp::WallTime expiry{};     // {}: from its lifetime
    smtp::Duration lifetime{};   // from when it is first free to go; {}: none recorded, so that of Settings
    smtp::WallTime deliver_by{}; // {}: any time (RFC 2852)
    smtp::LateMail late = smtp::LateMail::notify;
    Lane lane = Lane::normal;
    Sender sender = Sender::ordinary;
    std::string_view submitter;            // SASL user, else "uid:1000", else client network and sender's domain
    std::uint32_t recipients = 1;          // numbers 0 … recipients-1 are open …
    std::span<const RecipientNumber> open; // … unless these are listed: the ones still open (restored messages)
    std::span<const RestoredRecipient> restored;
    std::span<const ReportRecipient> unreported; // besides the open ones: finished, but the report is still pending
    bool delay_notice_sent = false;
    Trace trace = Trace::none;
    bool held = false; // by an operator, or as poison: nothing happens until release()
    bool with_earlier_agent =
        false; // an agent of an earlier queue-manager still delivers it: nothing happens until agent_released()
    Origin origin = Origin::recovered;   // submitted: recipients that have to wait are logged (NoticeSuspended)
    std::string_view retry_policy;       // by name; "" the route's
    const RetryPolicy* policy = nullptr; // … and its values as recorded; null: those in Settings under that name
    std::string_view pool;               // of source addresses; "" the default one
};

// One recipient after categorization. Expansion records are durable before this event.
struct FinalRecipient {
    RecipientNumber number = 0;
    Fate fate = Fate::remote;
    // remote: the domain, lower case; local: the store, and within it the user or mailbox whose deliveries have a limit
    // of their own ("local/ann")
    std::string_view destination;
    std::uint32_t sender_group = 0;       // recipients of different groups never share a transaction
    const Reason* reason = nullptr;       // failed, unknown; for mail that is only verified, also local and discard
    std::uint32_t address_key = 0;        // the same for the same address (SuppressionChanged); 0: not known
    bool needs_suppression_check = false; // remote, local: the suppression list must be checked before its first try
};

// The answer to AskCategorizer: it names every requested number that is not replaced by others, and the numbers that
// replace others. A number that only expanded into others is not named: its new ones account for it.
struct Categorized {
    spool::QueueId id;
    std::span<const FinalRecipient> recipients;
    std::span<const ReportRecipient> expanded; // replaced recipients whose sender must get a report about that
};

struct Routed {
    std::string_view domain;
    std::string_view pool; // as asked
    RouteKind kind = RouteKind::temporary;
    std::string_view link;                           // mx, configured; decide::link_from() names its pool
    smtp::Duration valid = std::chrono::seconds(60); // ask again after that
    const Reason* reason = nullptr;                  // temporary, permanent
    std::uint32_t connections = 0;                   // the link's limit; 0: the setting for its kind
    std::string_view rule;                           // the route's pattern: Settings::routes; "" none
    std::string_view auth; // how we authenticate there, an opaque string: mail shares a connection only if equal
    bool secure = false;   // the hosts cannot have been forged on the way (DNSSEC, or our own configuration)
};

// ---- suppression ----

// Recipients were put on the suppression list. Deliveries it may concern are checked (AskSuppressions) before their
// next try; those that only wait for their time are checked at once.
struct SuppressionChanged {
    std::span<const std::uint32_t> keys;       // of addresses, as FinalRecipient::address_key
    std::span<const std::string_view> domains; // suppressed as a whole, lower case
};

// The answer to AskSuppressions.
struct SuppressionsKnown {
    struct Suppressed {
        RecipientNumber number = 0;
        const Reason* reason = nullptr;
    };
    DeliveryId delivery = 0;
    bool known = true; // false: the list cannot be read; asked again after categorize_retry
    std::span<const Suppressed> suppressed;
};

// ---- the fleet ----

// Of the beginnings that all nodes together limit.
enum class SharedRate : std::uint8_t { messages, connections, last_ = connections };

// What is known of the other nodes.
struct FleetPresence {
    bool store = false;        // AskTokens will be answered
    std::uint32_t nodes = 0;   // seen last, this one included; 0: not known
    std::uint32_t missing = 0; // of them: FleetState::missing
    bool operator==(const FleetPresence&) const = default;
};

// The answer to AskTokens.
struct TokensGranted {
    RateLease::Answer answer;
};

// ---- agents ----

enum class AgentKind : std::uint8_t { smtp, local };

enum class AgentExit : std::uint8_t {
    orderly, // stopped, killed from outside, connection lost for another reason: no message is suspect
    crashed, // died of itself, hung (master killed it for that), or took all the memory: what was in flight is suspect
};

struct Result {
    RecipientNumber number = 0;
    Outcome outcome = Outcome::delivered;
    FailureKind kind = FailureKind::recipient; // deferred, failed
    PushBack push_back = PushBack::no;
    SuccessReport report = SuccessReport::none; // delivered
    const Reason* reason = nullptr;             // the reply, or why
};

struct Done {
    ConnectionId connection = 0; // 0: repeated to a new queue-manager, known by id and numbers only
    DeliveryId delivery = 0;
    spool::QueueId id;
    std::span<const Result> results; // of every recipient of the delivery
    bool dropped = false;            // the peer closed the connection or stopped responding at or after DATA
};

// How far a connection got before it ended.
enum class Phase : std::uint8_t { connecting, session };

// An address to connect to: replaces those the connection has, or races with them.
enum class AddressRequest : std::uint8_t { replace, add };

struct Closed {
    ConnectionId connection = 0;
    bool failed = false; // false: requested, or the peer closed it properly between deliveries
    bool was_up = false;
    Phase phase = Phase::connecting; // where it failed: events 4000, 4001
    PushBack push_back = PushBack::no;
    const Reason* reason = nullptr;
    bool policy = false;           // it failed a requirement of its mail's route (FailureKind::policy)
    bool credentials = false;      // … because our credentials are rejected (Failure::credentials)
    bool at_address_limit = false; // not failed: may_connect() allowed none of the addresses it could have taken
};

// The answer to Recall and CancelDelivery: these were not started, or were ended before all of the content was sent. In
// their order.
struct Returned {
    ConnectionId connection = 0;
    std::span<const DeliveryId> deliveries;
};

// ---- services ----

enum class Service : std::uint8_t { categorizer, router, bounce };
enum class Presence : std::uint8_t { down, up };

enum class ReportOutcome : std::uint8_t { done, try_later }; // done: durable, not wanted, or kept in bad/

struct Reported {
    std::uint64_t request = 0; // MakeReport::request
    ReportOutcome outcome = ReportOutcome::done;
    spool::QueueId report_id; // {}: none was needed
    std::string_view why;     // try_later: in plain words
};

// ---- the operator ----

enum class Scope : std::uint8_t { everything, link, queue, pool, last_ = pool };

} // namespace decide::queue

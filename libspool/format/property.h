// What happens to a message after acceptance, as records appended to its file by the queue-manager. Values
// and their bytes; must not know files, framing or what the facts are used for. A recipient number is the
// place in MessageState::recipients: the envelope's in order, then those added by Expanded records, in order.
#pragma once
#include "libsmtp/delivery/failure_details.h"
#include "libsmtp/delivery/stage.h"
#include "libsmtp/text/time_types.h"
#include "libspool/delivery/delivery_facts.h"
#include "libspool/delivery/resolved_recipient.h"
#include "libspool/format/envelope.h"
#include "libspool/format/queue_id.h"
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace spool {

using Stage = smtp::Stage;

struct Reply {
    std::uint16_t code = 0; // SMTP reply code; 0: no reply
    std::string status;     // "4.4.2"
    std::string text;       // one printable line
    Stage stage = Stage::none;
    smtp::FailureDetails details = {};
    bool suppressed = false; // there was no try: the address is on the suppression list
    static void fields(auto& m, auto& f) {
        f(1, m.code);
        f(2, m.status);
        f(3, m.text);
        f(4, m.stage);
        f(5, m.details.error);
        f(6, m.details.timed_out);
        f(7, m.details.implicit_tls);
        f(8, m.details.demand);
        f(9, m.suppressed);
    }
    bool operator==(const Reply&) const = default;
};

// A recipient's state. Only pending ones are worked on. A failed one is accounted for once it is reported.
enum class Status : std::uint8_t {
    pending,
    delivered,
    failed,
    expired,
    discarded,
    removed,
    expanded,
    last_ = expanded,
};

// Aliases and lists: `replaced` are expanded and no longer delivered themselves, `added` come at the end of the
// numbering. Synced before the first attempt for any of the added.
struct Expanded {
    std::vector<std::uint32_t> replaced;
    std::vector<ResolvedRecipient> added;
    static void fields(auto& m, auto& f) {
        f(1, m.replaced);
        f(2, m.added);
    }
    bool operator==(const Expanded&) const = default;
};

// The categorizer's decision on recipients whose address does not change. For remote recipients routed as configured,
// it may be written a tenth of a second after the first attempt has begun, if that is still running then.
struct Categorized {
    std::vector<std::uint32_t> recipients;
    Fate fate = Fate::unknown;
    std::string user;
    std::string target, transport, reverse_path; // as in ResolvedRecipient
    static void fields(auto& m, auto& f) {
        f(1, m.recipients);
        f(2, m.fate);
        f(3, m.user);
        f(4, m.target);
        f(5, m.transport);
        f(6, m.reverse_path);
    }
    bool operator==(const Categorized&) const = default;
};

// One try, for the recipients that had the same result.
struct Attempt {
    std::vector<std::uint32_t> recipients;
    smtp::WallTime time{};
    std::string host; // "mx.example.org[192.0.2.1]:25"; "" for none
    Reply reply;
    Outcome outcome = Outcome::deferred;
    bool in_doubt = false;                       // the content had been sent, its reply never came
    smtp::WallTime next_attempt{};               // deferred: not before
    std::uint32_t failures = 0;                  // deferred: failures that count, this one included
    std::string tls;                             // "TLSv1.3 …"; "none": in plain text; "" if no peer responded
    std::string source;                          // "192.0.2.1": of a pool, the address it came from; "" none
    SuccessReport success = SuccessReport::none; // delivered: what must be reported
    std::uint32_t pause = 0, link = 0; // seconds it had waited for a pause, for its link or queue, when it was due
    static void fields(auto& m, auto& f) {
        f(1, m.recipients);
        f(2, m.time);
        f(3, m.host);
        f(4, m.reply);
        f(5, m.outcome);
        f(6, m.in_doubt);
        f(7, m.next_attempt);
        f(8, m.failures);
        f(9, m.tls);
        f(10, m.source);
        f(16, m.success);
        f(17, m.pause);
        f(18, m.link);
    }
    bool operator==(const Attempt&) const = default;
};

// A recipient's status changes without a try: discarded by configuration, removed by an operator (and restored:
// pending), expired …
struct StatusChanged {
    std::vector<std::uint32_t> recipients;
    Status status = Status::removed;
    smtp::WallTime time{};
    Reply reply;     // failed, expired: the reason for the NDR
    std::string who; // operator or part of the MTA
    static void fields(auto& m, auto& f) {
        f(1, m.recipients);
        f(2, m.status);
        f(3, m.time);
        f(4, m.reply);
        f(5, m.who);
    }
    bool operator==(const StatusChanged&) const = default;
};

// When the recipients are next tried, and how many failures count so far: written if that changes other than by an
// attempt (an operator's retry, a changed policy).
struct Rescheduled {
    std::vector<std::uint32_t> recipients;
    smtp::WallTime next_attempt{};
    std::uint32_t failures = 0;
    smtp::WallTime free_from{}; // the end of its schedule: it may be sent then; {}: as before
    static void fields(auto& m, auto& f) {
        f(1, m.recipients);
        f(2, m.next_attempt);
        f(3, m.failures);
        f(4, m.free_from);
    }
    bool operator==(const Rescheduled&) const = default;
};

// A decision of an operator or filter; who and why are shown wherever the state is. Synced before the command succeeds.
struct Held {
    bool held = false;
    smtp::WallTime time{};
    std::string who, why;
    static void fields(auto& m, auto& f) {
        f(1, m.held);
        f(2, m.time);
        f(3, m.who);
        f(4, m.why);
    }
    bool operator==(const Held&) const = default;
};

struct PriorityChanged {
    std::int32_t priority = 0;
    std::string lane;
    smtp::WallTime time{};
    std::string who, why;
    static void fields(auto& m, auto& f) {
        f(1, m.priority);
        f(2, m.lane);
        f(3, m.time);
        f(4, m.who);
        f(5, m.why);
    }
    bool operator==(const PriorityChanged&) const = default;
};

// Also the record of the route's own policy, when the message begins to wait (who = "route").
struct ExpiryChanged {
    smtp::WallTime expiry{}; // {}: as before
    std::string policy;      // retry policy by name; "" = as before
    smtp::WallTime time{};
    std::string who, why;
    std::uint32_t lifetime = 0;              // seconds, instead of an expiry; 0: as before
    std::optional<RetryValues> retry_values; // of `policy`
    static void fields(auto& m, auto& f) {
        f(1, m.expiry);
        f(2, m.policy);
        f(3, m.time);
        f(4, m.who);
        f(5, m.why);
        f(6, m.lifetime);
        f(7, m.retry_values);
    }
    bool operator==(const ExpiryChanged&) const = default;
};

// The message failed too often and goes to the back lane (or returns from it).
struct ProblemMarked {
    bool problem = false;
    std::uint32_t failures = 0;
    smtp::WallTime time{};
    static void fields(auto& m, auto& f) {
        f(1, m.problem);
        f(2, m.failures);
        f(3, m.time);
    }
    bool operator==(const ProblemMarked&) const = default;
};

enum class Reported : std::uint8_t { submitted, not_wanted, kept_in_bad, last_ = kept_in_bad };

// The report to the sender on these recipients is done or not wanted, whether they failed or not. The report was
// durable before this was written.
struct NdrIssued {
    std::vector<std::uint32_t> recipients;
    Reported how = Reported::submitted;
    std::optional<QueueId> report; // submitted: the NDR's own id
    smtp::WallTime time{};
    static void fields(auto& m, auto& f) {
        f(1, m.recipients);
        f(2, m.how);
        f(3, m.report);
        f(4, m.time);
    }
    bool operator==(const NdrIssued&) const = default;
};

// The sender was notified that these are delayed.
struct DelayNoticed {
    std::vector<std::uint32_t> recipients;
    std::optional<QueueId> report;
    smtp::WallTime time{};
    static void fields(auto& m, auto& f) {
        f(1, m.recipients);
        f(2, m.report);
        f(3, m.time);
    }
    bool operator==(const DelayNoticed&) const = default;
};

// These may have been delivered, it is not known: an agent died with them in flight, or a final reply was lost.
struct InDoubt {
    std::vector<std::uint32_t> recipients;
    smtp::WallTime time{};
    std::string host, why;
    static void fields(auto& m, auto& f) {
        f(1, m.recipients);
        f(2, m.time);
        f(3, m.host);
        f(4, m.why);
    }
    bool operator==(const InDoubt&) const = default;
};

// An agent crashed with this message in flight.
struct AgentCrash {
    std::vector<std::uint32_t> recipients;
    smtp::WallTime time{};
    std::string agent;  // "smtp-client"
    bool alone = false; // nothing else was in flight: this one counts towards holding the message
    static void fields(auto& m, auto& f) {
        f(1, m.recipients);
        f(2, m.time);
        f(3, m.agent);
        f(4, m.alone);
    }
    bool operator==(const AgentCrash&) const = default;
};

// The result of all records before it: encode(MessageState) without the envelope. Written only by Store.
struct Checkpoint {
    std::string state;
    static void fields(auto& m, auto& f) { f(1, m.state); }
    bool operator==(const Checkpoint&) const = default;
};

// By an operator's request, these are categorized again, and their retry schedules start again.
struct Requeued {
    std::vector<std::uint32_t> recipients;
    std::string policy; // retry policy by name; "" = as before
    smtp::WallTime time{};
    std::string who, why;
    std::optional<RetryValues> retry_values; // of `policy`
    bool redo = false;                       // the result of an expansion is expanded again: its origin is categorized
    static void fields(auto& m, auto& f) {
        f(1, m.recipients);
        f(2, m.policy);
        f(3, m.time);
        f(4, m.who);
        f(5, m.why);
        f(6, m.retry_values);
        f(7, m.redo);
    }
    bool operator==(const Requeued&) const = default;
};

// The operator sends the message's remote recipients to a next hop other than their routes'.
struct Rerouted {
    std::string to; // a next hop as in [route]; "" = by the routes
    smtp::WallTime time{};
    std::string who, why;
    static void fields(auto& m, auto& f) {
        f(1, m.to);
        f(2, m.time);
        f(3, m.who);
        f(4, m.why);
    }
    bool operator==(const Rerouted&) const = default;
};

// The message is being moved to another node: from this record on, synced, nothing of it is delivered here until the
// transfer has ended. Whether the other node has it may be unknown meanwhile.
struct Transferring {
    bool under_way = false;       // false: it has ended, and the message is delivered here
    std::string node;             // to which
    std::uint32_t generation = 0; // counts the transfers of this message, from 1
    smtp::WallTime time{};
    std::string who, why;
    static void fields(auto& m, auto& f) {
        f(1, m.under_way);
        f(2, m.node);
        f(3, m.generation);
        f(4, m.time);
        f(5, m.who);
        f(6, m.why);
    }
    bool operator==(const Transferring&) const = default;
};

// A record of a later version: kept, never rejected, without effect.
struct UnknownProperty {
    std::uint16_t type = 0;
    std::string payload;
    bool operator==(const UnknownProperty&) const = default;
};

using Property = std::variant<Expanded, Categorized, Attempt, StatusChanged, Rescheduled, Held, PriorityChanged,
                              ExpiryChanged, ProblemMarked, NdrIssued, DelayNoticed, InDoubt, AgentCrash, Checkpoint,
                              Requeued, Rerouted, Transferring, UnknownProperty>;

// The record type and the payload's bytes.
std::uint16_t type_of(const Property& property);
std::string encode(const Property& property);
std::expected<Property, Malformed> decode_property(std::uint16_t type, std::string_view payload);

} // namespace spool

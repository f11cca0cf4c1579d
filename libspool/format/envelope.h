// What is known about a message apart from its content: sender, recipients,
// origin, requested options. A value. Knows its own encoding (tagged
// fields, see FORMAT.md); must not know files, address syntax or queues.
#pragma once
#include "libsmtp/protocol/parameters.h"
#include "libsmtp/text/time_types.h"
#include "libspool/delivery/delivery_facts.h"
#include "libspool/format/edits.h"
#include "libspool/format/queue_id.h"
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spool {

// Bytes on disk (or in a hint) that are invalid.
struct Malformed {
    std::string why; // "envelope.recipient.notify: out of range"
};

// RFC 3461 NOTIFY: a set of bits; unspecified means failure (and delay, at the server's discretion).
enum class Notify : std::uint8_t { unspecified = 0, never = 1, success = 2, failure = 4, delay = 8 };
constexpr Notify operator|(Notify a, Notify b) {
    return static_cast<Notify>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr bool has(Notify set, Notify bit) { return (static_cast<unsigned>(set) & static_cast<unsigned>(bit)) != 0; }
// The rules of RFC 3461; unspecified counts as failure and delay.
constexpr bool wants_failure(Notify n) { return n == Notify::unspecified || has(n, Notify::failure); }
constexpr bool wants_delay(Notify n) { return n == Notify::unspecified || has(n, Notify::delay); }
constexpr bool wants_success(Notify n) { return has(n, Notify::success); }

enum class Body : std::uint8_t { unspecified, seven_bit, eight_bit, binary, last_ = binary }; // BODY=
enum class Origin : std::uint8_t { client, local, report, copy, last_ = copy }; // SMTP, sendmail, NDR/DSN, copy
// A filter's verdict at acceptance.
enum class Verdict : std::uint8_t { accept, hold, quarantine, last_ = quarantine };

// A retry policy's values, as they were when recorded: a later change of the configuration does not change them. Times
// in milliseconds, jitter in millionths.
struct RetryValues {
    RetryKind kind = RetryKind::exchange;
    std::uint32_t base = 0, factor = 0; // exponential
    std::uint32_t interval = 0;         // fixed
    std::uint32_t attempts = 0;         // exponential, fixed: tries in all; 0: until it expires
    std::uint32_t jitter = 0;
    std::vector<std::uint32_t> waits; // steps

    static void fields(auto& m, auto& f) {
        f(1, m.kind);
        f(2, m.base);
        f(3, m.factor);
        f(4, m.interval);
        f(5, m.attempts);
        f(6, m.jitter);
        f(7, m.waits);
    }
    bool operator==(const RetryValues&) const = default;
};

struct EnvelopeRecipient {
    std::string address;  // local@domain, or a bare local part; no brackets
    std::string original; // as the client gave it, if different; "" = address
    std::string orcpt;    // "rfc822;user@example.org": type, ';', xtext decoded; "" for none
    Notify notify = Notify::unspecified;
    Fate fate = Fate::unknown; // class, if the writer knows it
    std::string reverse_path;  // of its own: "" = the message's, "<>" = the null one, else the address
    std::string user;          // delivery user; "" = none
    std::string transport;     // remote: next hop in the form of [route]; "" as the routes say
    std::string policy;        // retry policy parameters of its own; "" = none
    std::string target;        // local: where it goes for the delivery user; "" = their mailbox
    std::string unknown;       // fields of a later version, kept as they came

    static void fields(auto& m, auto& f) {
        f(1, m.address);
        f(2, m.original);
        f(3, m.orcpt);
        f(4, m.notify);
        f(5, m.fate);
        f(6, m.reverse_path);
        f(7, m.user);
        f(8, m.transport);
        f(9, m.policy);
        f(10, m.target);
    }
    bool operator==(const EnvelopeRecipient&) const = default;
};

// What the journal is to say of a message.
struct NamedValue {
    std::string name; // lower case
    std::string value;
    static void fields(auto& m, auto& f) {
        f(1, m.name);
        f(2, m.value);
    }
    bool operator==(const NamedValue&) const = default;
};

// How a message came here from another node. Node, id and generation name the transfer: however often it is repeated,
// it makes one message.
struct TransferOrigin {
    std::string node;             // that sent it
    QueueId id;                   // there
    std::uint32_t generation = 0; // of this transfer of that message, from 1
    smtp::WallTime time{};        // when it was accepted here
    std::string digest;           // of what it was accepted with: SHA-256, 32 bytes
    std::string state;            // what the message had come to there: the content of a Checkpoint
    static void fields(auto& m, auto& f) {
        f(1, m.node);
        f(2, m.id);
        f(3, m.generation);
        f(4, m.time);
        f(5, m.digest);
        f(6, m.state);
    }
    bool operator==(const TransferOrigin&) const = default;
};

struct Envelope {
    std::string reverse_path; // "" = the null one; no brackets
    std::vector<EnvelopeRecipient> recipients;
    smtp::WallTime arrival{};
    Origin origin = Origin::client;

    // The submitter.
    std::string submitter;      // fairness key: "sasl:ann", "cert:shop", "uid:1000", "net:192.0.2.0/24 example.org"
    std::string listener;       // [listen.<name>]; "" for local submission
    std::string client_name;    // "mail.example.org" or "unknown"; "" for local submission
    std::string client_address; // "192.0.2.1", "2001:db8::1"; "" for local submission
    std::uint16_t client_port = 0;
    std::string helo;
    std::string protocol;                            // "SMTP", "ESMTP", "ESMTPSA" …; "" for local submission
    std::optional<std::uint32_t> uid;                // local submission: from the kernel
    std::string sasl_method, sasl_user, sasl_sender; // AUTH: mechanism, identity, AUTH= of MAIL
    std::string tls_version, tls_cipher,
        tls_peer; // "TLSv1.3", cipher, verified name of the client's certificate

    // Requested options.
    Body body = Body::unspecified;
    bool smtputf8 = false;
    bool require_tls = false;
    bool tls_optional = false; // "TLS-Required: no"
    smtp::Ret ret = smtp::Ret::unspecified;
    std::string envid;                            // xtext decoded
    std::optional<smtp::WallTime> not_before;     // scheduled sending
    std::optional<smtp::WallTime> deliver_by;     // RFC 2852
    smtp::LateMail late = smtp::LateMail::notify; // what happens after it
    bool deliver_by_trace = false;
    std::int32_t priority = 0; // MT-PRIORITY −9 … 9
    std::string lane;
    std::string lane_chosen_by, pool_chosen_by; // "lanes.rules[2]", "X-Postrider-Lane"; "" if not known
    std::optional<smtp::WallTime> expiry;       // explicit; otherwise from its lifetime
    std::string pool;                           // source addresses
    std::string retry_policy;
    std::optional<RetryValues> retry_values; // of retry_policy
    std::uint32_t lifetime =
        0;                   // seconds from when it is first free to go, as configured at acceptance; 0: not recorded
    std::string rerouted_to; // next hop set by an operator, for a message taken from another spool; "" = none
    std::string idempotency_key;         // given by the submitter; "" none
    std::string idempotency_digest;      // of what was submitted with the key: SHA-256, 32 bytes
    bool idempotency_key_reused = false; // accepted only to be reported, because its key was used for other content
    std::vector<NamedValue> meta;        // given by the submitter; names of letters, digits, "-" and "_"
    std::vector<NamedValue> headers;     // header fields that the journal records, decoded, as they came
    Verdict verdict = Verdict::accept;
    std::string verdict_reason;
    Trace trace = Trace::none;
    std::string
        returned_to; // [listen.<name>] to which a content filter returned it; the rest is of where it came first
    std::string content_filter; // of a rule's FILTER (see chosen_filter()); "" none
    Edits edits;                // of the header, by filters: the content is sent and shown as edited

    // NDRs and copies.
    std::optional<QueueId> parent; // the message that this one is about
    std::uint32_t pass = 0;        // which pass through the parent's recipients
    std::string message_id;        // of the content, for logs; "" if it has none

    std::optional<TransferOrigin> transferred; // it came from another node

    std::string unknown; // fields of a later version, kept as they came

    static void fields(auto& m, auto& f) {
        f(1, m.reverse_path);
        f(2, m.recipients);
        f(3, m.arrival);
        f(4, m.origin);
        f(5, m.submitter);
        f(6, m.listener);
        f(7, m.client_name);
        f(8, m.client_address);
        f(9, m.client_port);
        f(10, m.helo);
        f(11, m.protocol);
        f(12, m.uid);
        f(13, m.sasl_method);
        f(14, m.sasl_user);
        f(15, m.sasl_sender);
        f(16, m.tls_version);
        f(17, m.tls_cipher);
        f(18, m.tls_peer);
        f(19, m.body);
        f(20, m.smtputf8);
        f(21, m.require_tls);
        f(22, m.tls_optional);
        f(23, m.ret);
        f(24, m.envid);
        f(25, m.not_before);
        f(26, m.deliver_by);
        f(27, m.priority);
        f(28, m.lane);
        f(29, m.expiry);
        f(30, m.pool);
        f(31, m.retry_policy);
        f(32, m.idempotency_key);
        f(33, m.verdict);
        f(34, m.verdict_reason);
        f(35, m.parent);
        f(36, m.pass);
        f(37, m.message_id);
        f(38, m.edits);
        f(39, m.rerouted_to);
        f(40, m.idempotency_digest);
        f(41, m.lifetime);
        f(42, m.retry_values);
        f(48, m.trace);
        f(49, m.idempotency_key_reused);
        f(50, m.meta);
        f(51, m.late);
        f(52, m.deliver_by_trace);
        f(53, m.lane_chosen_by);
        f(54, m.pool_chosen_by);
        f(55, m.headers);
        f(56, m.returned_to);
        f(57, m.transferred);
        f(58, m.content_filter);
    }
    bool operator==(const Envelope&) const = default;
};

// Where a rule has sent it first, instead of where its listener says; "" nowhere. Mail that is back from a filter, that
// only verifies an address, or that this system made goes to none.
inline std::string_view chosen_filter(const Envelope& envelope) {
    const bool submitted = envelope.origin == Origin::local || envelope.origin == Origin::client;
    const bool to_filter = submitted && envelope.trace != Trace::verify && envelope.returned_to.empty();
    return to_filter ? std::string_view(envelope.content_filter) : std::string_view();
}

// The fields' bytes, without a record's frame: as stored in the file and as sent in Submitted::envelope.
std::string encode(const Envelope& envelope);
std::expected<Envelope, Malformed> decode(std::string_view bytes);

} // namespace spool

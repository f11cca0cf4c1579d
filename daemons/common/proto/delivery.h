// queue-manager ↔ delivery agents (smtp-client, local). The queue-manager decides which connections exist and
// what goes over them; the agent does it and reports. Sender and recipients are read from the spool file.
//
//   Connect → Deliver… → Close   from the queue-manager
//   Connected, Done…, Closed     from the agent; after Closed the connection's number means nothing
//   MayConnect → Permission      before each address the agent tries: which one a connection leads to the
//                                agent knows, how many each may have the queue-manager. One question of a
//                                connection is open at a time; addresses that race are asked for one by one
//   Left                         of an address that came to nothing, or lost its race
//
// Deliveries handed over and not Done when Closed arrives are back in the queue, untried. An agent keeps each
// Done until it is Acknowledged and repeats it on a new connection to the queue-manager (a restarted one
// knows the delivery by queue id and recipients, not by number). For `local` a connection is a place for one
// delivery at a time, without hosts.
#pragma once
#include "daemons/common/proto/route.h"
#include "libsmtp/stage.h"
#include "libspool/layout.h"
#include "libspool/queue_id.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace proto::delivery {

inline constexpr std::string_view conversation = "delivery";

struct Connect { // queue-manager → agent
    std::uint64_t connection = 0;
    std::string link; // for logs
    bool mx = false;  // hosts come from MX records
    std::vector<route::Host> hosts;
    std::vector<std::string> replies; // what the route says of replies (decide::ReplyRule)
    static void fields(auto& m, auto& f) {
        f("connection", m.connection);
        f("link", m.link);
        f("mx", m.mx);
        f("hosts", m.hosts);
        f("replies", m.replies);
    }
};

struct Deliver { // queue-manager → agent
    std::uint64_t connection = 0;
    std::uint64_t delivery = 0;
    spool::QueueId queue_id;
    spool::Location location = spool::Location::incoming;
    std::vector<std::uint32_t> recipients; // numbers in spool::MessageState::recipients
    std::int64_t arrived = 0;              // µs since 1970: when the message was accepted
    std::int64_t queued = 0;               // µs since 1970: when the queue-manager had it ready
    bool secure = false;                   // as route::Routed says of the domain's hosts
    static void fields(auto& m, auto& f) {
        f("connection", m.connection);
        f("delivery", m.delivery);
        f("queue_id", m.queue_id);
        f("location", m.location);
        f("recipients", m.recipients);
        f("arrived", m.arrived);
        f("queued", m.queued);
        f("secure", m.secure);
    }
};

struct Close { // queue-manager → agent: say QUIT after what is in flight
    std::uint64_t connection = 0;
    static void fields(auto& m, auto& f) { f("connection", m.connection); }
};

struct Permission { // queue-manager → agent: the answer to MayConnect
    std::uint64_t connection = 0;
    bool granted = false; // false: that address has all the connections it may have
    static void fields(auto& m, auto& f) {
        f("connection", m.connection);
        f("granted", m.granted);
    }
};

struct Acknowledged { // queue-manager → agent: this result is recorded
    std::uint64_t delivery = 0;
    static void fields(auto& m, auto& f) { f("delivery", m.delivery); }
};

// Where in the conversation something was said or went wrong.
using Stage = smtp::Stage;

struct Reply {
    std::uint16_t code = 0; // SMTP reply code; 0: no reply (network, file system …)
    std::string status;     // enhanced status "4.4.2", the agent's own where the peer gave none
    std::string text;       // one printable line for log and NDR, at most 512 bytes
    std::string said;       // the peer's own words, "550 5.1.1 No such user"; "" where no peer spoke
    Stage stage = Stage::none;
    bool in_doubt = false; // the content had been sent, its reply never came
    static void fields(auto& m, auto& f) {
        f("code", m.code);
        f("status", m.status);
        f("text", m.text);
        f("said", m.said);
        f("stage", m.stage);
        f("in_doubt", m.in_doubt);
    }
};

enum class Outcome : std::uint8_t { delivered, deferred, failed, last_ = failed };

struct RecipientResult {
    std::uint32_t recipient = 0; // number in spool::MessageState::recipients
    Outcome outcome = Outcome::deferred;
    std::uint32_t reply = 0;     // index into Done::replies
    bool report_success = false; // delivered; the sender asked to be told (NOTIFY=SUCCESS) and nobody further
                                 // on has taken that over (RFC 3461)
    static void fields(auto& m, auto& f) {
        f("recipient", m.recipient);
        f("outcome", m.outcome);
        f("reply", m.reply);
        f("report_success", m.report_success);
    }
};

struct MayConnect { // agent → queue-manager
    std::uint64_t connection = 0;
    std::string address;  // "192.0.2.1:25", "[2001:db8::1]:25"
    bool besides = false; // others are being tried; false: places at others are given back, and where there is
                          // no room the link waits for some
    static void fields(auto& m, auto& f) {
        f("connection", m.connection);
        f("address", m.address);
        f("besides", m.besides);
    }
};

struct Left { // agent → queue-manager: the place at that address is given back
    std::uint64_t connection = 0;
    std::string address;
    static void fields(auto& m, auto& f) {
        f("connection", m.connection);
        f("address", m.address);
    }
};

struct Connected { // agent → queue-manager: EHLO (TLS, AUTH) went well; the connection takes deliveries
    std::uint64_t connection = 0;
    static void fields(auto& m, auto& f) { f("connection", m.connection); }
};

struct Done {                     // agent → queue-manager
    std::uint64_t connection = 0; // 0: the connection is no more (told to a new queue-manager)
    std::uint64_t delivery = 0;
    spool::QueueId queue_id;
    std::vector<RecipientResult> results;
    std::vector<Reply> replies;
    bool gone = false;             // there is no such file (any more): nothing was sent, results are empty
    bool unreadable = false;       // the file is damaged: nothing was sent, results are empty; quarantine it
    std::string host;              // "mx.example.org[192.0.2.1]:25"; "" for none
    std::string tls;               // "TLSv1.3 …"; "none": in plain text; "" where no peer spoke
    std::int64_t started = 0;      // µs since 1970
    std::int64_t transmission = 0; // µs from MAIL to the last reply
    static void fields(auto& m, auto& f) {
        f("connection", m.connection);
        f("delivery", m.delivery);
        f("queue_id", m.queue_id);
        f("results", m.results);
        f("replies", m.replies);
        f("gone", m.gone);
        f("unreadable", m.unreadable);
        f("host", m.host);
        f("tls", m.tls);
        f("started", m.started);
        f("transmission", m.transmission);
    }
};

struct Closed { // agent → queue-manager
    std::uint64_t connection = 0;
    bool failed =
        false; // false: closed in good order (asked to, or the peer's polite end between deliveries)
    bool was_up = false;  // Connected had been said
    bool crowded = false; // not failed: its hosts of best preference have all the connections they may have
    Reply reason;         // why it failed: the last host's
    std::string host;     // the last one tried
    static void fields(auto& m, auto& f) {
        f("connection", m.connection);
        f("failed", m.failed);
        f("was_up", m.was_up);
        f("crowded", m.crowded);
        f("reason", m.reason);
        f("host", m.host);
    }
};

using Message =
    std::variant<Connect, Deliver, Close, Permission, Acknowledged, MayConnect, Left, Connected, Done, Closed>;

} // namespace proto::delivery

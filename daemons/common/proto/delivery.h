// queue-manager ↔ delivery agents (smtp-client, local). The queue-manager decides which connections exist and
// what is sent over them; the agent does it and reports. Sender and recipients are read from the spool file.
//
//   Connect → Deliver… → Close   from the queue-manager
//   Connected, Done…, Closed     from the agent; after Closed the connection's number means nothing
//   SourceRefused, SourceAccepted   from the agent: the site rejects an address of the pool, or its mail; or
//                                accepts it
//   ConnectRequest → ConnectReply  before each address the agent tries: the agent knows which one a connection leads
//                                to, the queue-manager how many each may have. One question at a time for a
//                                connection; addresses tried in parallel are asked for one by one
//   AddressReleased              that address failed, or another was faster
//
//   Recall → Returned            deliveries the agent has not begun come back, untried
//   Cancel → Returned or TooLateToCancel   one delivery comes back, stopped if it had begun, unless all of its
//                                content has been sent
//
// A Done of many replies comes in parts (ipc/parts.h), and nothing else of that agent between them.
//
// Deliveries that are not Done when Closed arrives are back in the queue, untried. An agent keeps each
// Done until it is Acknowledged and repeats it on a new connection to the queue-manager (a restarted one
// knows the delivery by queue id and recipients, not by number). For `local` a connection is room for one
// delivery at a time, without hosts.
//
//   Probe, EndProbe                  from the queue-manager, to smtp-client only
//   ProbeStep…, ProbeResult              from it: how a delivery there would go, up to RCPT; without a message and
//                                without ConnectRequest; its result is shown to a person, not used by
//                                the queue. After EndProbe nothing more is reported
#pragma once
#include "daemons/common/proto/route.h"
#include "libsmtp/delivery/outcome.h"
#include "libsmtp/delivery/remote_reply.h"
#include "libsmtp/delivery/stage.h"
#include "libspool/delivery/waited.h"
#include "libspool/format/layout.h"
#include "libspool/format/queue_id.h"
#include "libspool/journal/message_facts.h"
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
    std::vector<std::string> replies; // of a trial: what its route says of replies (decide::ReplyRule)
    std::string rule;                 // the route's pattern, of the mail it is opened for; "" none
    std::string pool;                 // of source addresses: by name; "" none
    std::vector<std::string> resting; // of them: the last choice
    static void fields(auto& m, auto& f) {
        f("connection", m.connection);
        f("link", m.link);
        f("mx", m.mx);
        f("hosts", m.hosts);
        f("replies", m.replies);
        f("rule", m.rule);
        f("pool", m.pool);
        f("resting", m.resting);
    }
};

struct Deliver { // queue-manager → agent
    std::uint64_t connection = 0;
    std::uint64_t delivery = 0;
    spool::QueueId queue_id;
    spool::Location location = spool::Location::incoming;
    std::uint64_t reused_file = 0;         // id of the reused file it is in (libspool/format/layout.h); 0: none
    std::vector<std::uint32_t> recipients; // numbers in spool::MessageState::recipients
    std::int64_t arrived = 0;              // µs since 1970: when the message was accepted
    std::int64_t queued = 0;               // µs since 1970: when the queue-manager had it ready
    route::StsPolicy sts;                  // that the mail's domain has
    bool secure = false;                   // as route::Routed says of the domain's hosts
    std::vector<std::string> replies;      // what the route of its domain says of replies (decide::ReplyRule)
    bool to_content_filter = false;        // the message comes back, and only then goes its way; also by its file
    std::string route = {};                // the route that a table named for this mail (decide/routing/route_name.h)
    static void fields(auto& m, auto& f) {
        f("connection", m.connection);
        f("delivery", m.delivery);
        f("queue_id", m.queue_id);
        f("location", m.location);
        f("reused_file", m.reused_file);
        f("recipients", m.recipients);
        f("arrived", m.arrived);
        f("queued", m.queued);
        f("sts", m.sts);
        f("secure", m.secure);
        f("replies", m.replies);
        f("to_content_filter", m.to_content_filter);
        f("route", m.route);
    }
};

inline spool::FileHint file_of(const Deliver& order) { return {order.location, spool::QueueId{order.reused_file}}; }

struct Close { // queue-manager → agent: say QUIT after what is in flight
    std::uint64_t connection = 0;
    static void fields(auto& m, auto& f) { f("connection", m.connection); }
};

// queue-manager → agent, to smtp-client only: all that is not begun is wanted back.
struct Recall {
    std::uint64_t connection = 0;
    static void fields(auto& m, auto& f) { f("connection", m.connection); }
};

// queue-manager → agent, to smtp-client only: this one is not to be delivered.
struct Cancel {
    std::uint64_t connection = 0;
    std::uint64_t delivery = 0;
    spool::QueueId queue_id; // its
    static void fields(auto& m, auto& f) {
        f("connection", m.connection);
        f("delivery", m.delivery);
        f("queue_id", m.queue_id);
    }
};

// agent → queue-manager: the answer to Recall, and to Cancel. Not sent for a connection that is no more: Closed is;
// nor to Cancel for a delivery that is no more: Done is.
struct Returned {
    std::uint64_t connection = 0;
    std::vector<std::uint64_t> deliveries; // in their order
    static void fields(auto& m, auto& f) {
        f("connection", m.connection);
        f("deliveries", m.deliveries);
    }
};

// agent → queue-manager: the answer to Cancel that comes too late; the delivery's Done tells the rest.
struct TooLateToCancel {
    spool::QueueId queue_id;
    static void fields(auto& m, auto& f) { f("queue_id", m.queue_id); }
};

struct ConnectReply { // queue-manager → agent: the answer to ConnectRequest
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

// Where in the conversation a reply was received or an error occurred.
using Stage = smtp::Stage;

using smtp::Outcome;

struct RecipientResult {
    std::uint32_t recipient = 0; // number in spool::MessageState::recipients
    Outcome outcome = Outcome::deferred;
    std::uint32_t reply = 0;     // index into Done::replies
    bool report_success = false; // delivered; the sender asked for a report (NOTIFY=SUCCESS) and no later
                                 // server has taken that over (RFC 3461)
    // For the journal.
    std::string address = {};  // "": unknown, or those of all are longer than most_addresses
    std::string original = {}; // as the sender gave it, if different
    std::uint32_t attempt = 0; // which one for this recipient, from 1
    spool::Waited waited = {}; // as its file tells; of pauses and links, what earlier attempts recorded
    static void fields(auto& m, auto& f) {
        f("recipient", m.recipient);
        f("outcome", m.outcome);
        f("reply", m.reply);
        f("report_success", m.report_success);
        f("address", m.address);
        f("original", m.original);
        f("attempt", m.attempt);
        f("waited", m.waited);
    }
};

// How long the parts of setting up a connection took, in µs.
struct SetupTimes {
    std::uint32_t dns = 0;     // addresses, TLSA records
    std::uint32_t connect = 0; // until TCP was up
    std::uint32_t tls = 0;     // the handshake
    std::uint32_t session = 0; // greeting, EHLO, STARTTLS, AUTH
    static void fields(auto& m, auto& f) {
        f("dns", m.dns);
        f("connect", m.connect);
        f("tls", m.tls);
        f("session", m.session);
    }
    bool operator==(const SetupTimes&) const = default;
};

// A line of the conversation: "C: ", what was sent, "S: ", what was received, or "-- ", with which host it was. One
// line for each command and each reply.
struct DialogueLine {
    std::uint32_t recipient = 0; // which it is about, by its number and one more; 0: all
    std::string text;
    static void fields(auto& m, auto& f) {
        f("recipient", m.recipient);
        f("text", m.text);
    }
    bool operator==(const DialogueLine&) const = default;
};

struct ConnectRequest { // agent → queue-manager
    std::uint64_t connection = 0;
    std::string address;      // "192.0.2.1:25", "[2001:db8::1]:25"
    bool in_parallel = false; // others are being tried; false: places at others are given back, and where there is
                              // no room the link waits for some
    static void fields(auto& m, auto& f) {
        f("connection", m.connection);
        f("address", m.address);
        f("besides", m.in_parallel);
    }
};

struct AddressReleased { // agent → queue-manager: the place at that address is given back
    std::uint64_t connection = 0;
    std::string address;
    static void fields(auto& m, auto& f) {
        f("connection", m.connection);
        f("address", m.address);
    }
};

struct Connected { // agent → queue-manager: EHLO (TLS, AUTH) went well; the connection takes deliveries
    std::uint64_t connection = 0;
    std::string link;
    std::string source; // of a pool: the address it came from; "" none
    static void fields(auto& m, auto& f) {
        f("connection", m.connection);
        f("link", m.link);
        f("source", m.source);
    }
};

// agent → queue-manager: why an address of the pool is not to be used for this link for a while.
struct SourceRefused {
    enum class By : std::uint8_t {
        connection, // refused in the banner or at EHLO, where another was taken
        mail,       // refused at MAIL or later, in words about the address (decide::blames_source)
        us,         // it is not this host's
        last_ = us,
    };
    std::string link;
    std::string source; // "192.0.2.1"
    std::string why;    // one line
    By by = By::connection;
    static void fields(auto& m, auto& f) {
        f("link", m.link);
        f("source", m.source);
        f("why", m.why);
        f("by", m.by);
    }
};

// agent → queue-manager: mail was taken from an address that rests, as the agent was told.
struct SourceAccepted {
    std::string link;
    std::string source;
    static void fields(auto& m, auto& f) {
        f("link", m.link);
        f("source", m.source);
    }
};

struct Done {                     // agent → queue-manager
    std::uint64_t connection = 0; // 0: the connection is no more (told to a new queue-manager)
    std::uint64_t delivery = 0;
    spool::QueueId queue_id;
    std::vector<RecipientResult> results;
    std::vector<smtp::RemoteReply> replies; // text and remote_reply of at most 512 bytes
    bool gone = false;             // the agent found no such file: nothing was sent; results as of a deferral. The
                                   // queue-manager looks itself before it believes that
    bool final_delivery = false;   // who took it keeps it (LMTP): delivered then, and not only relayed
    bool unreadable = false;       // the file is damaged: nothing was sent, results are empty; quarantine it
    std::string host;              // "mx.example.org[192.0.2.1]:25"; "" for none
    std::string tls;               // "TLSv1.3 …"; "none": in plain text; "" where no peer spoke
    std::string source;            // "192.0.2.1": of a pool, the address it came from; "" none
    std::int64_t started = 0;      // µs since 1970
    std::int64_t transmission = 0; // µs from MAIL to the last reply
    // For the journal.
    spool::journal::MessageFacts about; // the message
    std::vector<std::string> rules;     // of the route, that decided what the first replies mean; "" none
    std::string link;
    std::uint64_t connection_use = 0;   // deliveries over the session, with this one
    SetupTimes setup;                   // of the connection, if this delivery waited for it
    std::int64_t in_queue = 0;          // µs from when it was due until it was begun
    std::vector<DialogueLine> dialogue; // of an attempt that failed, where it is to be recorded; in the first part
    // What the queue-manager knows of the attempt; not sent.
    std::string queue, route;             // route: its pattern; "" none
    std::uint32_t pause = 0, backoff = 0; // s that it waited for a pause, for its link or queue, when it was due
    std::uint32_t part = 0;               // of the replies; all else is in the first
    bool more = false;
    std::uint64_t key() const { return delivery; }
    Done continued() const {
        return {.delivery = delivery,
                .queue_id = queue_id,
                .results = {},
                .replies = {},
                .about = {},
                .rules = {},
                .setup = {},
                .dialogue = {}};
    }
    static void fields(auto& m, auto& f) {
        f("connection", m.connection);
        f("delivery", m.delivery);
        f("queue_id", m.queue_id);
        f("results", m.results);
        f("replies", m.replies);
        f("part", m.part);
        f("more", m.more);
        f("gone", m.gone);
        f("final_delivery", m.final_delivery);
        f("unreadable", m.unreadable);
        f("host", m.host);
        f("tls", m.tls);
        f("source", m.source);
        f("started", m.started);
        f("transmission", m.transmission);
        f("about", m.about);
        f("link", m.link);
        f("connection_use", m.connection_use);
        f("setup", m.setup);
        f("in_queue", m.in_queue);
        f("rules", m.rules);
        f("dialogue", m.dialogue);
    }
};

// Replies whose rules a Done names.
inline constexpr std::size_t most_rules = 100;

// Bytes of addresses that a Done names: its results are in one frame (ipc/frame.h).
inline constexpr std::size_t most_addresses = 256 << 10;

// The size in the queue-manager's memory of a Done received in parts: ten thousand recipients with the longest replies.
inline constexpr std::size_t largest_done = 32 << 20;

struct Closed { // agent → queue-manager
    std::uint64_t connection = 0;
    bool failed = false;           // false: closed in order (on request, or by the peer between deliveries)
    bool was_up = false;           // Connected had been sent
    bool at_address_limit = false; // not failed: its hosts of best preference have all the connections they may have
    smtp::RemoteReply reason;      // why it failed: the last host's
    std::string host;              // the last one tried
    static void fields(auto& m, auto& f) {
        f("connection", m.connection);
        f("failed", m.failed);
        f("was_up", m.was_up);
        f("crowded", m.at_address_limit);
        f("reason", m.reason);
        f("host", m.host);
    }
};

// ---- probes: as far as RCPT, for operators ----

struct Probe { // queue-manager → agent
    std::uint64_t attempt = 0;
    Connect connect;          // as for a delivery to these recipients
    std::string reverse_path; // "" is the null sender
    std::vector<std::string> recipients;
    bool every_host = false; // each of them, not only until one has answered
    bool secure = false;     // as of Deliver
    route::StsPolicy sts;
    static void fields(auto& m, auto& f) {
        f("attempt", m.attempt);
        f("connect", m.connect);
        f("reverse_path", m.reverse_path);
        f("recipients", m.recipients);
        f("every_host", m.every_host);
        f("secure", m.secure);
        f("sts", m.sts);
    }
};

struct EndProbe { // queue-manager → agent: the result is no longer wanted
    std::uint64_t attempt = 0;
    static void fields(auto& m, auto& f) { f("attempt", m.attempt); }
};

enum class Step : std::uint8_t {
    addresses, // A and AAAA records of a host
    connect,   // TCP
    tlsa,      // what DNSSEC says of the host's certificate …
    sts,       // … and the MTA-STS policy of the mail's domain, where the domain's TLS level asks
    greeting,
    ehlo,
    starttls, // the server's reply to it
    tls,      // the handshake, and the names in the certificate
    auth,
    mail,
    rcpt,
    client, // a line we sent …
    server, // … and one we received
    last_ = server,
};
constexpr std::string_view name_of(Step step) {
    constexpr std::string_view names[] = {"addresses", "connect", "tlsa", "sts",  "greeting", "ehlo",  "starttls",
                                          "tls",       "auth",    "mail", "rcpt", "client",   "server"};
    return names[static_cast<std::size_t>(step)];
}

enum class Finding : std::uint8_t { good, notice, temporary, permanent, last_ = permanent };

struct ProbeStep { // agent → queue-manager
    std::uint64_t attempt = 0;
    std::int64_t at = 0; // µs since the Probe came
    Step step = Step::connect;
    Finding finding = Finding::good;
    std::string host;        // "mx.example.org[192.0.2.1]:25"; addresses: its name
    std::string recipient;   // rcpt
    smtp::RemoteReply reply; // its text says it all in one line
    static void fields(auto& m, auto& f) {
        f("attempt", m.attempt);
        f("at", m.at);
        f("step", m.step);
        f("finding", m.finding);
        f("host", m.host);
        f("recipient", m.recipient);
        f("reply", m.reply);
    }
};

struct ProbeResult { // agent → queue-manager: the last word; the worst that became of any recipient
    std::uint64_t attempt = 0;
    Outcome outcome = Outcome::deferred;
    smtp::RemoteReply reason; // unless all would be accepted
    std::string host;
    static void fields(auto& m, auto& f) {
        f("attempt", m.attempt);
        f("outcome", m.outcome);
        f("reason", m.reason);
        f("host", m.host);
    }
};

using Message = std::variant<Connect, Deliver, Close, Recall, Cancel, Returned, TooLateToCancel, ConnectReply,
                             Acknowledged, ConnectRequest, AddressReleased, Connected, SourceRefused, SourceAccepted,
                             Done, Closed, Probe, EndProbe, ProbeStep, ProbeResult>;

} // namespace proto::delivery

// The client's side of an SMTP conversation, as a value: no socket, no file, no clock.
//
// The driver feeds it the server's bytes and asks for events; output() returns what must be written, as
// views, so that content is never copied. It holds up to two transactions at a time: the commands of the
// second follow directly after the final dot of the first (RFC 2920), and their replies are read in order.
//
// The same class speaks LMTP (RFC 2033). A short message that is the first of its conversation is sent
// with BDAT (RFC 3030), together with its commands, if the server offers CHUNKING and PIPELINING: this
// saves the wait for the reply to DATA. Later ones gain nothing, as their DATA follows the message before.
//
// Every transaction ends in exactly one of: Finished, Ended::interrupted, or (untouched, to be done
// elsewhere) being in neither when Ended comes.
//
// TLS is the driver's task: after StartTls it performs the handshake and reports the result; what the
// server offered in plain text is then discarded (RFC 3207, 4.2). So are passwords: the session chooses
// the mechanism and runs the exchange (RFC 4954), the driver supplies the identity.
// Wrapped, StartTls is the first event, before the greeting (RFC 8314).
#pragma once
#include "libsmtp/protocol/outgoing_content.h"
#include "libsmtp/protocol/parameters.h"
#include "libsmtp/protocol/protocol.h"
#include "libsmtp/delivery/remote_reply.h"
#include "libsmtp/protocol/reply.h"
#include "libsmtp/protocol/reply_parser.h"
#include "libsmtp/auth/sasl_client.h"
#include "libsmtp/delivery/stage.h"
#include "libsmtp/text/time_types.h"
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace smtp {

// One message for some recipients of one host.
struct Transaction {
    struct Recipient {
        std::string address; // without brackets
        RcptParameters parameters;
    };
    std::uint64_t id = 0;      // the driver's
    std::string reverse_path;  // without brackets; "" is the null sender
    // size: of the content; body: eight_bit_mime where the content has 8-bit bytes; smtputf8: the sender said
    // so
    MailParameters parameters;
    std::uint64_t longest_line = UINT64_MAX; // of the content, if known
    std::string conversion_error;               // body is eight_bit_mime: why it cannot be said in seven; "" nobody tried
    bool utf8_header = false;                // fields of the content's header are not ASCII (RFC 6532)
    bool require_tls = false; // RFC 8689: only over verified TLS, and to who offers REQUIRETLS
    bool probe = false;       // stops behind RCPT: DATA is never said; accepted recipients count as delivered
    std::vector<Recipient> recipients;
};

struct TransactionResult {
    std::uint64_t id = 0;
    std::vector<Verdict> verdicts;           // each one once
    std::vector<std::uint32_t> of_recipient; // for each recipient, in order: the index of its verdict
    bool dsn_relayed = false;                // the server took over the DSN parameters (RFC 3461)
    Monotonic started{};                     // MAIL was sent, or the transaction before it was over
    Monotonic finished{};
};

namespace client_event {

// The server awaits our side of the TLS handshake; tls_up() or tls_failed() must follow. All that was in
// output() has been written by then.
struct StartTls {};
// A question, where Options::auth wants it: authenticate() or auth_failed() must follow, at once or later.
struct AuthRequested {
    SaslMechanism mechanism; // the strongest that both sides know and that may be used here
};
struct Ready {}; // greeting, EHLO, TLS and AUTH went well
// Of a narrated conversation: a command that was put into output(), without CRLF; what proves who we are is
// left out of it.
struct CommandSent {
    Stage stage = Stage::none;
    std::string text;
};
// … and what the server said to it; where it is about AUTH, without its text.
struct ReplyReceived {
    Stage stage = Stage::none; // none: nobody had asked
    std::uint32_t recipient = 0; // rcpt: its place in the transaction
    Reply reply;
};
// A question: content() with the next chunk (from the beginning when `from_start`), or content_end() with the
// last.
struct ContentRequested {
    std::uint64_t id = 0;
    bool from_start = true;
};
struct Finished {
    TransactionResult result;
};
// The conversation is over; what output() still holds (QUIT) may be written without waiting.
struct Ended {
    bool orderly = false; // after quit(), or the server's polite end between transactions
    Verdict why;          // if not orderly
    std::optional<TransactionResult> interrupted; // what was under way: verdicts where known, else `why`
    bool mail_accepted = false;                   // the interrupted one's MAIL had been
    bool distrust_pipelining = false;             // replies did not match: come again without
    bool distrust_chunking = false;               // BDAT went wrong: come again without
};

} // namespace client_event

using ClientEvent =
    std::variant<client_event::StartTls, client_event::AuthRequested, client_event::Ready, client_event::CommandSent,
                 client_event::ReplyReceived, client_event::ContentRequested, client_event::Finished, client_event::Ended>;

class ClientSession {
public:
    struct Timeouts {
        Duration banner = std::chrono::seconds(300), ehlo = std::chrono::seconds(300);
        Duration mail = std::chrono::seconds(300), rcpt = std::chrono::seconds(300);
        Duration data = std::chrono::seconds(120), block = std::chrono::seconds(180);
        Duration final_dot = std::chrono::seconds(600);
        // Bounds on what moves, but slowly: bytes a second of content, on average once `block` has passed (0: none),
        // and a transaction up to the end of its content, beside the time that the content has by that rate.
        std::uint64_t minimum_rate = 0;
        Duration transaction = std::chrono::hours(1);
    };
    enum class Pipelining : std::uint8_t { if_offered, never };
    enum class Chunking : std::uint8_t { if_useful, never };
    // Of a message that goes by BDAT: what is sent for nothing where nobody accepts it.
    static constexpr std::uint64_t chunk_limit = 64 * 1024;
    enum class StartTls : std::uint8_t { never, if_offered, always, wrapped };
    struct Auth { // RFC 4954
        std::vector<SaslMechanism> mechanisms; // that we have something for; none: nobody authenticates
        bool without_tls = false;              // those that show the password may be used in plain text
    };
    struct Options {
        std::string name; // for EHLO
        std::string peer; // "NAME[IP]": for texts
        Pipelining pipelining = Pipelining::if_offered;
        StartTls tls = StartTls::never; // always: without it the conversation ends; wrapped: from the first byte
        Timeouts timeouts = {};
        // A domain in the DNS' letters (IDNA), for servers without SMTPUTF8; "" if it has none. Not set: none
        // has.
        std::function<std::string(std::string_view domain)> ascii_domain = {};
        Auth auth = {}; // not empty: without it the conversation ends
        bool report_dialogue = false; // every command and reply is an event, CommandSent and ReplyReceived
        Protocol protocol = Protocol::smtp;
        Chunking chunking = Chunking::if_useful;
    };
    // What EHLO offered.
    struct Extensions {
        bool esmtp = false, pipelining = false, eight_bit_mime = false, dsn = false, size = false;
        bool starttls = false, require_tls = false, smtputf8 = false, chunking = false;
        std::uint64_t size_limit = 0; // 0: none told
        std::string auth;             // mechanisms, "PLAIN LOGIN"; "": AUTH was not offered
        // LIMITS (RFC 9422); 0: none told
        std::uint32_t recipients = 0;   // of a transaction (RCPTMAX)
        std::uint32_t domains = 0;      // of its recipients (RCPTDOMAINMAX)
        std::uint32_t transactions = 0; // in this conversation (MAILMAX)
    };

    // The connection stands at `now`; the greeting is awaited.
    ClientSession(Options options, Monotonic now);

    // Hands over a transaction; only if can_deliver().
    void deliver(Transaction transaction, Monotonic now);
    bool can_deliver() const {
        return !quitting_ && !over_ && transactions_.size() < 2 && transactions_.size() < transactions_left();
    }
    // The transaction handed over last is given back, if nothing of it was said to the server yet.
    bool withdraw(std::uint64_t id);
    // Nothing is under way.
    bool idle() const { return up_ && transactions_.empty(); }

    // Answers to ContentRequested. The chunk's bytes must stay where they are until the next ContentRequested,
    // Finished or Ended. content_end(): with the last chunk, if it is at hand. content_broken(): the message cannot
    // be read to its end; the conversation ends without the final dot, and `interrupted` is that transaction.
    void content(std::string_view chunk, Monotonic now);
    void content_end(Monotonic now, std::string_view last_chunk = {});
    void content_broken(std::string_view why);
    // All of that transaction's content has been sent, or it is over: what becomes of it the server says.
    bool content_sent(std::uint64_t id) const;

    // QUIT after what is under way. Nothing more may be handed over.
    void quit(Monotonic now);

    // Answers to StartTls. What is fed from now on is what TLS has opened. `verified`: the certificate is
    // that of the host we meant. tls_failed(): why, in one line; the conversation ends.
    enum class Peer : std::uint8_t { unverified, verified };
    void tls_up(Peer peer, Monotonic now);
    void tls_failed(std::string_view why, Monotonic now);

    // Answers to AuthRequested. auth_failed(): why there is nothing to authenticate with, in one line; the
    // conversation ends.
    void authenticate(SaslClient client, Monotonic now);
    void auth_failed(std::string_view status, std::string_view why, Monotonic now);

    // What happened on the connection.
    void feed(std::string_view bytes, Monotonic now);
    void end_of_input(Monotonic now);                   // the server closed
    void broken(std::string_view error, Monotonic now); // "Connection reset by peer", "Broken pipe"
    void wrote(std::size_t bytes, Monotonic now);       // of output(), from its front
    void expired(Monotonic now);

    std::optional<ClientEvent> next();
    // Appends what waits to be written. The views are good until the next call of anything else here.
    void output(std::vector<std::string_view>& views) const;
    bool has_output() const { return piece_ < pieces_.size(); }
    std::optional<Monotonic> next_deadline() const { return deadline_; }
    bool over() const { return over_; }
    const Extensions& extensions() const { return extensions_; }
    // What the server calls itself in its greeting: printable, at most 255 bytes; "" if it did not say.
    const std::string& server_name() const { return server_name_; }

private:
    enum class Awaited : std::uint8_t { banner, ehlo, helo, starttls, auth, rset, mail, rcpt, data, chunk, dot };
    struct Expected {
        Awaited what;
        std::uint32_t recipient = 0; // rcpt, and dot in LMTP: its place in the transaction
    };
    enum class Phase : std::uint8_t {
        waiting, // nothing of this round has been sent
        mail,    // what is to be sent next: (RSET and) MAIL …
        rcpt,    // … a further RCPT …
        data,    // … DATA …
        answer,  // … nothing until DATA is answered
        content, // … the message …
        dot,     // … nothing: all has been sent, the reply is awaited
    };
    // A transaction under way: one or more rounds, as the server takes only so many recipients at once.
    struct Active {
        Transaction transaction;
        TransactionResult result;
        std::vector<std::uint32_t> pending;  // recipients of rounds to come
        std::vector<std::uint32_t> round;    // recipients of this round
        std::vector<std::uint32_t> accepted; // of this round
        std::vector<std::uint32_t> too_many; // of this round: answered 452, may get a further round
        std::size_t asked = 0;               // of this round: RCPTs sent
        Phase phase = Phase::waiting;
        bool begun = false;         // MAIL has been sent
        bool refused = false;       // MAIL was, in this round: what else is said about it means nothing
        bool mail_accepted = false; // in any round
        bool utf8 = false;          // said with SMTPUTF8
        bool chunked = false;     // BDAT in this round, not DATA
        bool got_421 = false;       // LMTP: a recipient was answered 421
    };
    static constexpr std::uint32_t no_verdict = UINT32_MAX; // in of_recipient, while under way
    struct Piece {                                         // of output: a view, or a part of commands_
        const char* bytes;
        std::size_t offset, size;
    };

    void take(const Reply& reply);
    void report_reply(const Reply& reply);
    void take_banner(const Reply& reply);
    void take_hello(const Reply& reply, Awaited which);
    void send_ehlo();
    void greeted();
    void ready();
    void begin_auth();
    void take_auth(const Reply& reply);
    void answer_challenge(const Reply& reply);
    void send_secret(std::string_view before, const Secret& message);
    void end_without_auth(std::string_view status, std::string text);
    void take_starttls(const Reply& reply);
    void end_without_tls(std::string_view status, std::string text);
    void take_mail(const Reply& reply);
    void take_rcpt(const Reply& reply, std::uint32_t recipient);
    void take_data(const Reply& reply);
    void take_dot(const Reply& reply, std::uint32_t recipient);
    void take_early(const Reply& reply);
    void chunk_refused(const Reply& reply);
    void take_421(const Reply& reply);
    void take_unsolicited(const Reply& reply);

    void advance();
    Active* next_to_send();
    void begin_round(Active& active);
    void send_command(Active& active);
    void send_mail(const Active& active);
    void send_rcpt(const Active& active, std::uint32_t recipient);
    void send_content(Active& active, std::string_view chunk, bool last);
    bool uses_chunking(const Active& active) const;
    std::vector<std::uint32_t> next_round(const Active& active, std::vector<std::uint32_t>& pending) const;
    std::size_t max_mails() const;
    std::size_t transactions_left() const; // besides those that are over
    void restart_round(Active& active);
    void end_round(Active& active);
    void finish(Active& active);
    void reject_unsendable(Active& active) const;
    void convert_to_ascii(Active& active) const;

    static std::uint32_t add_verdict(TransactionResult& result, Verdict verdict);
    static void set_verdict(TransactionResult& result, const std::vector<std::uint32_t>& recipients,
                       Verdict verdict);
    Verdict verdict_of(Stage stage, const Reply& reply) const;
    Verdict connection_lost(std::string_view how) const;
    static Stage stage_of(Awaited what);
    Stage stage() const;
    bool all_sent() const { return written_ >= dot_at_; }
    bool message_fully_sent() const; // all of the first transaction's, whose fate is not known
    bool safe_to_close() const;

    void send(std::string_view command, Awaited what, std::uint32_t recipient = 0);
    void put(std::string_view text);
    void put_scratch();
    void fail(Verdict why);
    void refused(Stage stage, const Reply& reply);
    void mismatch(std::string_view why);
    void disconnect();
    void end(client_event::Ended ended);
    void update_deadline();
    void begin_content(const Active& active);
    Duration content_time(std::uint64_t bytes) const; // that minimum_rate allows for them

    Options options_;
    ReplyParser parser_;
    Extensions extensions_;
    std::string server_name_;
    std::vector<Active> transactions_; // at most two; replies always belong to the first
    std::vector<Expected> expected_;   // replies to come, in order
    std::size_t expected_front_ = 0;
    OutgoingContent codec_; // of the first transaction

    std::string commands_;
    std::vector<Piece> pieces_;
    std::vector<std::string_view> scratch_;
    std::size_t piece_ = 0;                               // the first unwritten one
    std::uint64_t queued_ = 0, written_ = 0, dot_at_ = 0; // bytes since the beginning
    std::uint64_t content_from_ = 0; // written_ when the content at hand began, …
    Monotonic content_began_{};      // … and when that was
    enum class Bound : std::uint8_t { silence, rate, transaction } bound_ = Bound::silence; // what deadline_ is

    std::vector<ClientEvent> events_;
    std::size_t events_front_ = 0;
    Monotonic now_{}; // as told last
    std::optional<Monotonic> deadline_;
    std::size_t max_recipients_seen_ = SIZE_MAX; // recipients per round this server was seen to take
    std::uint64_t completed_ = 0;    // transactions
    std::uint64_t mails_ = 0;        // MAILs sent
    bool up_ = false, over_ = false, quitting_ = false, pipelining_ = false;
    std::optional<SaslClient> sasl_; // until it is known who we are
    std::string auth_cancelled_;     // why, once it has been
    bool auth_asked_ = false;        // the driver has been, and has not answered
    std::optional<Secret> withheld_; // the first message, if it is too long for the command
    bool secret_in_output_ = false;        // commands_ holds what nobody must find there
    bool handshaking_ = false, secure_ = false, verified_ = false; // TLS
    bool needs_reset_ = false;  // the server is still in a transaction that went nowhere
    bool chunk_wanted_ = false; // tell when the chunk has been written
};

} // namespace smtp

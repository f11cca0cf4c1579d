// The server's side of an SMTP conversation, as a value: no socket, no file, no clock.
//
// The driver feeds bytes in, asks for the next event, answers the events that are
// questions, and sends what output() holds. A question stops the parser, so replies leave
// in the order of the commands (RFC 2920) however late an answer is. Time comes in with
// feed(), answer() and expired(). The same bytes, whole or in pieces, give the same events.
// The session asks for what it cannot know (who may relay, which recipients exist).
//
// A further command (XCLIENT …) is one more event, one more value of Question and one more
// row in the table of commands.
#pragma once
#include "libsmtp/message/address.h"
#include "libsmtp/protocol/capabilities.h"
#include "libsmtp/protocol/client_attributes.h"
#include "libsmtp/protocol/framing.h"
#include "libsmtp/protocol/parameters.h"
#include "libsmtp/protocol/reply.h"
#include "libsmtp/auth/secret.h"
#include "libsmtp/text/time_types.h"
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace smtp {

// What one listener's sessions obey. Shared by all of them; must outlive them.
struct ServerSettings {
    enum class ContentLines : std::uint8_t { normalise, reject }; // a bare CR or LF in content
    enum class EarlyBytes : std::uint8_t { refuse, tolerate }; // before the banner, after EHLO or DATA

    std::string hostname = "localhost";
    std::string banner = "ESMTP Postrider";                                   // after the host name
    Capabilities capabilities;                                                // in plain text
    Capabilities tls_capabilities;                                            // once TLS is up
    enum class Tls : std::uint8_t { optional, required } tls = Tls::optional; // required: before any mail
    ContentLines content_lines = ContentLines::normalise;
    EarlyBytes early_bytes = EarlyBytes::refuse;

    std::size_t line = 2048;                       // a command with its CRLF
    std::uint64_t message_size = 50 * 1024 * 1024; // bytes of decoded content; 0: no limit
    std::uint64_t skipped = 64 * 1024 * 1024;      // bytes read and thrown away of a message over the limit
    std::uint32_t recipients = 1000;               // per transaction
    std::uint32_t soft_errors = 10;                // from here each refusal is held back for error_delay
    std::uint32_t hard_errors = 20;                // 421 and closed
    std::uint32_t bare_lines = 3;                  // commands with a bare CR or LF before the session ends
    std::uint32_t junk_commands = 100;             // NOOP, RSET, HELP, VRFY between two messages; then errors
    Duration error_delay = std::chrono::seconds(1);
    Duration command_time = std::chrono::minutes(5); // from a reply to the next whole command
    Duration data_time = std::chrono::minutes(5);    // between two pieces of content
    Duration rate_window = std::chrono::minutes(1);  // content is measured over this
    std::uint64_t min_data_rate = 100;               // bytes per second over a window; 0: none asked
};

// A command of the client, or where it is without one.
enum class Verb : std::uint8_t {
    ehlo,
    helo,
    starttls,
    auth,
    mail,
    rcpt,
    data,
    bdat,
    rset,
    noop,
    vrfy,
    etrn,
    help,
    xclient,
    xforward,
    quit,
    unknown,
    connect,
    end_of_message,
};
std::string_view name_of(Verb verb); // "MAIL", "UNKNOWN", "CONNECT", "END-OF-MESSAGE", as logs have it

namespace event {
struct Connect {}; // question: 220 greets (text is ours if empty), else closed
struct Helo {
    bool extended;
    std::string name;
}; // question: 250 accepts; the list of EHLO is ours, the reply's text comes behind it
struct Mail {
    ReversePath path;
    MailParameters parameters;
}; // question
struct Rcpt {
    ForwardPath path;
    RcptParameters parameters;
}; // question
struct Data {}; // question, also before the first chunk of BDAT: 354 starts the content
struct Chunk {
    std::string_view bytes;
}; // notice: content, valid until the next call of next() or feed()
struct EndOfData {}; // question: 250 once the message is durable
struct Vrfy {
    std::string argument; // UTF-8 only if the client has asked for such replies (RFC 6531, 3.7.4.2)
};                        // question
struct Etrn {
    enum class Scope : std::uint8_t {
        domain,
        with_subdomains
    }; // "name" or "#name" (queues are named by domains); "@name"
    Scope scope;
    std::string name; // lower case
};                    // question
// Question: 220 starts TLS. Once that reply is sent the driver feeds nothing until it has called tls_up().
struct StartTls {};
// Question: 334 asks for an AuthLine (its text is base64 already), 235 authenticates.
struct Auth {
    std::string mechanism;         // one of those offered, in capitals
    std::optional<Secret> initial; // base64, as it came; "" if the client sent "="
};
struct AuthLine { // question, answered like Auth
    Secret text;  // base64; "*": the client gives up
};
// Question: 220 believes it. The session then begins anew for the client described: Connect comes next, and
// the reply to XCLIENT is what that is answered.
struct Xclient {
    ClientAttributes attributes;
};
struct Xforward { // question
    ClientAttributes attributes;
};
struct Unknown {
    std::string verb, argument;
}; // question
// Notice: the session itself has refused something (syntax, order, sizes, numbers), for the log. A
// transaction this ends is reset after it.
struct Refused {
    Verb command = Verb::unknown;
    Reply reply;
};
// Notice: the transaction that MAIL opened is gone without EndOfData having been answered, and what XFORWARD said
// of it, also if it was never opened.
struct Reset {};
struct Quit {};     // notice; Disconnect follows
struct Disconnect { // notice, the last event of every session, once
    enum class Cause : std::uint8_t {
        quit,
        lost,
        timed_out,
        too_many_errors,
        not_smtp,
        too_early,
        turned_away,
        shut_down
    };
    Cause cause;
};
} // namespace event

using ServerEvent =
    std::variant<event::Connect, event::Helo, event::Mail, event::Rcpt, event::Data, event::Chunk,
                 event::EndOfData, event::Vrfy, event::Etrn, event::StartTls, event::Auth, event::AuthLine,
                 event::Xclient, event::Xforward, event::Unknown, event::Refused, event::Reset, event::Quit,
                 event::Disconnect>;

class ServerSession {
public:
    ServerSession(const ServerSettings& settings, Monotonic now);
    ServerSession(const ServerSession&) = delete;
    ServerSession& operator=(const ServerSession&) = delete;

    // Bytes from the client; copied.
    void feed(std::string_view bytes, Monotonic now);
    // The client is gone.
    void disconnected();
    // The next event; none: needs input, an answer, or time (a held reply).
    std::optional<ServerEvent> next();

    struct Rights {
        // The commands by which a proxy speaks for others; refused (550) and not shown without the right to them.
        bool xclient = false, xforward = false;
        bool bare_newlines = false; // a bare LF ends a line, and LF.LF a message
    };
    void grant(Rights rights) { rights_ = rights; }

    // What happens after the reply to a question.
    enum class AfterReply : std::uint8_t {
        proceed,
        hold,  // the reply leaves only after error_delay: a cost for who gets it
        close, // the reply is the last
    };
    // To the question that next() returned last. A 421 closes whatever `then` says.
    void answer(const Reply& reply, Monotonic now, AfterReply then = AfterReply::proceed);
    // TLS is up: after StartTls was answered 220, or (implicit TLS) before Connect is answered. Everything
    // said before is forgotten.
    void tls_up(Monotonic now);
    // 421 and the end: when no transaction is open, or at once unless a question is open (then after its
    // answer).
    enum class When : std::uint8_t { after_transaction, now };
    void shut_down(const Reply& reply, Monotonic now, When when);

    // What is to be sent, taken away from the session. Empty while a reply is held.
    bool has_output() const { return !output_.empty() && !held_until_; }
    std::string output() { return has_output() ? std::exchange(output_, {}) : std::string(); }

    bool wants_input() const { return state_ != State::over && question_ == Question::nothing && !held_until_; }
    // Bytes fed and not yet parsed: the driver stops reading when they are many.
    std::size_t buffered() const { return input_.size() - begin_; }
    // Memory held for bytes that came or leave. trim() gives back what is not in use.
    std::size_t held() const { return input_.capacity() + output_.capacity(); }
    void trim();
    bool question_open() const { return question_ != Question::nothing; }
    bool ending() const { return state_ == State::over; } // only notices are left to hand out
    bool closed() const { return ended_; } // Disconnect was handed out: send output(), then close

    // When expired() must be called; none while a question is open.
    std::optional<Monotonic> next_deadline() const;
    void expired(Monotonic now);
    // The driver did not read for a while (back-pressure of its own): the client is not to blame.
    void reading_resumed(Monotonic now);
    // Other limits from now on, e.g. under stress: what is waited for already comes no later than they say.
    void apply_settings(const ServerSettings& settings, Monotonic now);

    // Facts for policy, Received: and logs.
    const std::string& helo() const { // the name in question while Helo is one
        return question_ == Question::helo ? pending_helo_ : helo_;
    }
    bool greeted() const { return greeting_ != Greeting::none; }
    bool tls_active() const { return tls_; }
    bool proxied() const { return proxied_; } // XCLIENT was believed: the facts are its client's
    bool authenticated() const { return authenticated_; }
    const Capabilities& offered() const {
        return tls_ ? settings_->tls_capabilities : settings_->capabilities;
    }
    std::string_view protocol() const; // "SMTP", "ESMTP", "ESMTPS" … (RFC 3848)
    // The same for the Received field of this transaction: "UTF8SMTPS" … where it is one of SMTPUTF8 (RFC
    // 6531, 4.3).
    std::string_view transaction_protocol() const;
    bool in_transaction() const { return in_mail_; }
    std::uint32_t recipients() const { return recipients_; } // accepted, of this transaction
    std::uint64_t content_size() const { return content_; }  // decoded so far, of this transaction
    // For "lost connection after CMD": "CONNECT", "EHLO", "DATA (120 bytes)", "END-OF-MESSAGE", "UNKNOWN".
    std::string last_command() const;
    // For causes not_smtp and too_early: what the client said that it should not have, printable, cut.
    const std::string& unexpected_input() const { return unexpected_input_; }
    // For the disconnect line: "ehlo=1 mail=1 rcpt=0/1 quit=1 commands=3/4".
    std::string statistics() const;

private:
    enum class State : std::uint8_t {
        connect,
        command,
        auth_line,
        skip_line,
        content,
        skip_content,
        chunk,
        skip_chunk,
        handshake,
        over
    };
    enum class Question : std::uint8_t {
        nothing,
        connect,
        helo,
        mail,
        rcpt,
        data,
        end_of_data,
        vrfy,
        etrn,
        start_tls,
        auth,
        xclient,
        xforward,
        unknown
    };
    enum class Greeting : std::uint8_t { none, helo, ehlo };
    struct Command;
    static const Command commands[];
    struct Count {
        std::uint32_t accepted = 0, total = 0;
    };

    std::optional<ServerEvent> next_command();
    std::optional<ServerEvent> next_content();
    std::optional<ServerEvent> end_of_content();
    std::optional<ServerEvent> run(std::string_view line);
    std::optional<ServerEvent> on_helo(std::string_view argument);
    std::optional<ServerEvent> on_mail(std::string_view argument);
    std::optional<ServerEvent> on_rcpt(std::string_view argument);
    std::optional<ServerEvent> too_many_recipients();
    std::optional<ServerEvent> on_data(std::string_view argument);
    std::optional<ServerEvent> on_bdat(std::string_view argument);
    std::optional<ServerEvent> next_chunk();
    std::optional<ServerEvent> skip_chunk(Reply refusal);
    std::optional<ServerEvent> take_last_chunk();
    bool receiving() const { // content or what is thrown away instead
        return state_ == State::content || state_ == State::skip_content || state_ == State::chunk ||
               state_ == State::skip_chunk;
    }
    std::optional<Reply> content_refusal() const;
    void begin_content(State state);
    void go_on_with_content();
    // A message's content is expected, or comes.
    bool measured() const { return state_ != State::command ? receiving() : chunking_ && in_mail_; }
    std::optional<ServerEvent> on_rset(std::string_view argument);
    std::optional<ServerEvent> on_noop(std::string_view argument);
    std::optional<ServerEvent> on_vrfy(std::string_view argument);
    std::optional<ServerEvent> on_etrn(std::string_view argument);
    std::optional<ServerEvent> on_help(std::string_view argument);
    std::optional<ServerEvent> on_starttls(std::string_view argument);
    std::optional<ServerEvent> on_auth(std::string_view argument);
    std::optional<ServerEvent> next_auth_line();
    std::optional<ServerEvent> on_xclient(std::string_view argument);
    std::optional<ServerEvent> on_xforward(std::string_view argument);
    std::optional<ServerEvent> on_quit(std::string_view argument);

    std::optional<ServerEvent> ask(Question question, ServerEvent event);
    std::optional<ServerEvent> skip_content(Reply refusal);
    std::nullopt_t not_smtp(std::string_view text);
    void answer_yes(Question question, const Reply& reply);
    void greet(Greeting greeting, std::string_view more);
    void restart();
    void answer_no(Question question, const Reply& reply);
    void accept(int code, EnhancedStatus status, std::string_view text); // a positive reply to a command
    // The session's own word, with its notice.
    std::nullopt_t refuse(int code, EnhancedStatus status, std::string_view text);
    std::nullopt_t refuse(const Reply& reply);
    void refuse_permanently(const Reply& reply); // permanent: counted as an error
    void count_error();
    void count_deferral();
    void count_junk();
    void note_unknown();
    void note_unexpected_input(std::string_view text);
    void end_transaction(); // the one exit of every transaction that was not answered at its end
    void end(event::Disconnect::Cause cause);
    void wait_for_command();
    std::string_view pending() const { return std::string_view(input_).substr(begin_); }
    Count& count(Verb verb) { return counts_[static_cast<std::size_t>(verb)]; }

    const ServerSettings* settings_;
    std::string input_, output_, helo_, pending_helo_, unexpected_input_;
    std::size_t begin_ = 0, line_begin_ = 0; // in input_: what is not yet parsed; the line being worked on
    DataDecoder decoder_;
    State state_ = State::connect;
    Question question_ = Question::nothing;
    Greeting greeting_ = Greeting::none;
    Verb verb_ = Verb::connect; // the command being worked on or last worked on
    bool in_mail_ = false, in_content_ = false, after_content_ = false;
    bool utf8_ = false; // the transaction is one of SMTPUTF8
    bool tls_ = false, authenticated_ = false;
    Rights rights_;
    Greeting described_greeting_ = Greeting::none; // by the XCLIENT that is asked about
    bool described_login_ = false, proxied_ = false;
    bool forwarded_ = false; // XFORWARD has said something of the next transaction
    bool client_gone_ = false;                 // the client, while a question was open
    bool reset_ = false, quit_ = false; // notices to hand out
    bool ended_ = false;                // Disconnect was handed out
    event::Disconnect::Cause cause_ = event::Disconnect::Cause::lost;
    Reply refused_, shut_down_;
    std::optional<event::Refused> refusal_; // notice to hand out
    std::uint32_t recipients_ = 0, errors_ = 0, bare_lines_ = 0, junk_ = 0;
    std::uint32_t overshoot_ = 0, deferrals_ = 0; // recipients over the limit; MAIL, RCPT, DATA refused for now
    std::uint64_t chunk_size_ = 0, chunk_left_ = 0; // of BDAT
    bool last_chunk_ = false, chunking_ = false;    // chunking_: the transaction's content comes by BDAT
    std::uint64_t content_ = 0, skipped_ = 0, window_bytes_ = 0;
    Monotonic now_, deadline_, window_end_;
    std::optional<Monotonic> held_until_;
    std::array<Count, static_cast<std::size_t>(Verb::unknown) + 1> counts_{}; // of commands
};

} // namespace smtp

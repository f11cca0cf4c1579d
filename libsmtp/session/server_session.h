// The server's side of an SMTP conversation, as a value: no socket, no file, no clock.
//
// The driver feeds bytes in, asks for the next event, answers the events that are
// questions, and sends what output() holds. A question stops the parser, so replies leave
// in the order of the commands (RFC 2920) however late an answer is. Time comes in with
// feed(), answer() and expired(). The same bytes, whole or in pieces, give the same events.
// The session asks for what it cannot know (who may relay, which recipients exist).
//
// It is made of parts that know nothing of each other: ServerInput cuts lines, the table of commands checks
// them, ContentReceiver takes messages, ErrorCounter and InputDeadline limit the client. A further command
// (XCLIENT …) is one more event, one more value of Question and one more row in the table of commands.
#pragma once
#include "libsmtp/session/server_client.h"
#include "libsmtp/session/server_commands.h"
#include "libsmtp/session/server_content.h"
#include "libsmtp/session/server_deadline.h"
#include "libsmtp/session/server_errors.h"
#include "libsmtp/session/server_events.h"
#include "libsmtp/session/server_input.h"
#include "libsmtp/session/server_settings.h"
#include "libsmtp/text/time_types.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace smtp {

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

    void grant(ServerRights rights) { rights_ = rights; }

    // What happens after the reply to a question.
    enum class AfterReply : std::uint8_t {
        proceed,
        hold,  // the reply leaves only after error_delay: a cost for the client
        close, // the reply is the last
        // Of Connect: what the client has sent before the reply are its first commands.
        read_on,
        // Of Connect: the first line of a greeting, "220-". The question stays open, and its answer is the last line.
        announce,
    };
    // To the question that next() returned last. A 421 closes whatever `then` says.
    void answer(const Reply& reply, Monotonic now, AfterReply then = AfterReply::proceed);
    // TLS is up: after StartTls was answered 220, or (implicit TLS) before Connect is answered. Everything
    // said before is forgotten.
    void tls_up(Monotonic now);
    // From now on each of these is reported once (event::Violation).
    void watch(const ServerWatch& watch) { watch_ = watch; }
    // 421 and the end: when no transaction is open, or at once unless a question is open (then after its
    // answer).
    enum class When : std::uint8_t { after_transaction, now };
    void shut_down(const Reply& reply, Monotonic now, When when);

    // What is to be sent, taken away from the session. Empty while a reply is held.
    std::string output() { return held_until_ ? std::string() : std::exchange(output_, {}); }

    bool wants_input() const { return state_ != State::over && question_ == Question::nothing && !held_until_; }
    // Bytes fed and not yet parsed, until the next call of another function: the driver stops reading when they are
    // many.
    std::string_view unparsed() const { return input_.pending(); }
    // Memory held for bytes that came or leave. trim() gives back what is not in use.
    std::size_t held() const { return input_.capacity() + output_.capacity(); }
    void trim() {
        input_.trim();
        output_.shrink_to_fit();
    }
    bool question_open() const { return question_ != Question::nothing; }
    bool ending() const { return state_ == State::over; } // only notices are left to hand out
    bool closed() const { return ended_; }                // Disconnect was handed out: send output(), then close

    // When expired() must be called; none while a question is open.
    std::optional<Monotonic> next_deadline() const;
    void expired(Monotonic now);
    // The driver did not read for a while (back-pressure of its own): the client is not to blame.
    void reading_resumed(Monotonic now);
    // Other limits from now on, e.g. under stress: they shorten the current deadline as well.
    void apply_settings(const ServerSettings& settings, Monotonic now);

    // Facts for policy, Received: and logs.
    const std::string& helo() const { // the name in question while Helo is one
        return question_ == Question::helo ? pending_client_.helo : client_.helo;
    }
    bool greeted() const { return client_.greeting != Greeting::none; }
    bool tls_active() const { return client_.tls; }
    bool proxied() const { return client_.proxied; } // XCLIENT was believed: the facts are its client's
    const Capabilities& offered() const { return client_.tls ? settings_->tls_capabilities : settings_->capabilities; }
    std::string_view protocol() const { return client_.protocol(); } // "SMTP", "ESMTP", "ESMTPS" … (RFC 3848)
    // The same for the Received field of this transaction: "UTF8SMTPS" … where it is one of SMTPUTF8 (RFC
    // 6531, 4.3).
    std::string_view transaction_protocol() const { return client_.protocol(transaction_.utf8); }
    bool in_transaction() const { return transaction_.open; }
    std::uint32_t recipients() const { return transaction_.recipients; } // accepted, of this transaction
    std::uint64_t content_size() const { return content_.size(); }       // decoded so far, of this transaction
    // For "lost connection after CMD": "CONNECT", "EHLO", "DATA (120 bytes)", "END-OF-MESSAGE", "UNKNOWN".
    std::string last_command() const;
    // For causes not_smtp and too_early: the unexpected input, printable, shortened.
    const std::string& unexpected_input() const { return unexpected_input_; }
    // For the disconnect line: "ehlo=1 mail=1 rcpt=0/1 quit=1 commands=3/4".
    std::string statistics() const { return counts_.text(); }

private:
    enum class State : std::uint8_t { connect, command, auth_line, skip_line, content, handshake, over };
    using Cause = event::Disconnect::Cause;

    std::optional<ServerEvent> next_command();
    std::optional<ServerEvent> next_auth_line();
    std::optional<ServerEvent> next_content();
    void skip_line();
    std::optional<ServerEvent> run(std::string_view line);
    std::optional<ServerEvent> begin_chunk(std::string_view argument);
    std::optional<ServerEvent> skip_chunk(Reply refusal);
    void begin_content();
    void obey(const Command& command, const Reply& reply);
    std::optional<ServerEvent> ask_about(const Command& command, Ask question);
    std::optional<ServerEvent> ask(Question question, ServerEvent event);
    std::nullopt_t not_smtp(std::string_view text);

    void answer_yes(Question question, const Reply& reply);
    void answer_no(Question question, const Reply& reply);
    void greet(std::string_view more);
    void accept(const Reply& reply);                // a positive reply to a command
    std::nullopt_t refuse(const Reply& reply);      // by the session itself, with the notice
    void refuse_without_notice(const Reply& reply); // permanent: counted as an error
    void penalise(Penalty penalty);
    void note_unknown();
    void end_transaction(); // the one exit of every transaction that was not answered at its end
    void end(Cause cause);
    void await_command();
    bool receiving() const { return state_ == State::content; } // content, or skipping it
    // The content of a message is expected or being received.
    bool measured() const {
        return state_ == State::command ? transaction_.chunking && transaction_.open : receiving();
    }
    CommandContext context() const { return {*settings_, offered(), rights_, client_, transaction_}; }

    const ServerSettings* settings_;
    ServerInput input_;
    std::string output_, unexpected_input_;
    State state_ = State::connect;
    Question question_ = Question::nothing;
    Verb verb_ = Verb::connect;  // the command being worked on or last worked on
    bool after_content_ = false; // it had content, which is over
    ServerRights rights_;
    ServerClient client_,
        pending_client_;     // the latter: as it will be if Helo or Xclient is answered with yes
    bool forwarded_ = false; // XFORWARD has described the next transaction
    ServerTransaction transaction_;
    ContentReceiver content_;
    bool client_gone_ = false;          // the client, while a question was open
    bool reset_ = false, quit_ = false; // notices to hand out
    bool ended_ = false;                // Disconnect was handed out
    Cause cause_ = Cause::lost;
    Reply shut_down_;                       // the reply to come; code 0: none
    std::optional<event::Refused> refusal_; // notice to hand out
    ServerWatch watch_;
    std::optional<event::Violation> violation_; // notice to hand out
    std::uint64_t skipped_ = 0;                 // of the line being skipped
    ErrorCounter errors_;
    VerbCounts counts_;
    Monotonic now_;
    InputDeadline deadline_;
    std::optional<Monotonic> held_until_;
};

} // namespace smtp

// A driver for ServerSession in tests: feeds it, answers its questions by a simple policy, writes down what
// happened.
#pragma once
#include "libsmtp/session/server_session.h"
#include <string>
#include <variant>

namespace smtp::testing {

template <class... F> struct Overloaded : F... {
    using F::operator()...;
};

// What the test's policy says: nobody@… is unknown, …@remote.example may not be relayed to, …@later.example
// is not known yet.
class ServerPeer {
public:
    explicit ServerPeer(const ServerSettings& settings, Monotonic start = Monotonic(std::chrono::hours(1)))
        : now(start), session(settings, start) {
        pump();
    }

    void feed(std::string_view bytes) {
        session.feed(bytes, now);
        pump();
    }
    void advance(Duration by) { // as a loop would: every deadline on the way is met
        const auto until = now + by;
        while (const auto due = session.next_deadline()) {
            if (*due > until) break;
            now = *due;
            session.expired(now);
            pump();
        }
        now = until;
    }
    void hang_up() {
        session.disconnected();
        pump();
    }
    void pump() {
        while (auto event = session.next()) std::visit(*this, *event);
        sent += session.output();
    }

    void operator()(event::Connect&) { answer({220, {}, ""}); }
    void operator()(event::Helo& helo) {
        log += (helo.extended ? "ehlo " : "helo ") + helo.name + "\n";
        answer({250, {}, ""});
    }
    void operator()(event::Mail& mail) {
        log += "mail <" + mail.path.text() + ">" + (mail.parameters.smtputf8 ? " utf8" : "") +
               (mail.parameters.require_tls ? " tls" : "") + "\n";
        content.clear();
        answer({250, {2, 1, 0}, "Ok"});
    }
    void operator()(event::Rcpt& rcpt) {
        const auto& to = rcpt.path.mailbox;
        log += "rcpt <" + to.text() + ">\n";
        if (to.local_part == "nobody")
            answer({550, {5, 1, 1}, "<" + to.text() + ">: User unknown"});
        else if (to.domain == "remote.example")
            answer({554, {5, 7, 1}, "<" + to.text() + ">: Relay access denied"});
        else if (to.domain == "later.example")
            answer({450, {4, 1, 1}, "<" + to.text() + ">: try later"});
        else
            answer({250, {2, 1, 5}, "Ok"});
    }
    void operator()(event::Data&) { answer({354, {}, "End data with <CR><LF>.<CR><LF>"}); }
    void operator()(event::Chunk& chunk) { content += chunk.bytes; }
    void operator()(event::EndOfData&) {
        log += "message " + content + "\n";
        ++messages;
        answer({250, {2, 0, 0}, "Ok: queued as 0A1B2C3D4E5F01"});
    }
    void operator()(event::Vrfy&) { answer({252, {2, 1, 5}, "Send some mail, I will try my best"}); }
    void operator()(event::Etrn& etrn) { // queue.example has mail, busy.example cannot be started
        log += (etrn.scope == event::Etrn::Scope::domain ? "etrn " : "etrn and below ") + etrn.name + "\n";
        if (etrn.name == "queue.example")
            answer({253, {2, 0, 0}, "Ok, 3 pending messages for node queue.example started"});
        else if (etrn.name == "busy.example")
            answer({458, {4, 3, 2}, "Unable to queue messages for node busy.example"});
        else
            answer({459, {4, 7, 1}, "Node " + etrn.name + " not allowed"});
    }
    // AHlhbg== is right, anything else wrong; asked for if it does not come at once.
    void operator()(event::Auth& auth) {
        if (!auth.initial) return answer({334, {}, "R28gb24="});
        authenticate(auth.initial->reveal());
    }
    void operator()(event::AuthLine& line) { authenticate(line.text.reveal()); }
    void authenticate(std::string_view text) {
        log += "auth " + std::string(text) + "\n";
        if (text == "AHlhbg==")
            answer({235, {2, 7, 0}, "Authentication successful"});
        else if (text == "*")
            answer({501, {5, 7, 0}, "Authentication aborted"});
        else
            answer({535, {5, 7, 8}, "Error: authentication failed"});
    }
    void operator()(event::StartTls&) {
        answer({220, {2, 0, 0}, "Ready to start TLS"});
        if (session.ending()) return;
        sent += session.output();
        session.tls_up(now);
        log += "tls\n";
    }
    void operator()(event::Xclient& xclient) {
        log += "xclient " + (xclient.attributes.address ? xclient.attributes.address->value : "") + "\n";
        answer({220, {}, ""});
    }
    void operator()(event::Xforward& xforward) {
        log += "xforward " + (xforward.attributes.ident ? xforward.attributes.ident->value : "") + "\n";
        answer({250, {2, 0, 0}, "Ok"});
    }
    void operator()(event::Unknown&) { answer({502, {5, 5, 2}, "Error: command not recognized"}); }
    void operator()(event::Refused& refused) {
        log += "refused " + std::string(name_of(refused.command)) + ": " + refused.reply.line() + "\n";
    }
    void operator()(event::Violation& violation) {
        log += "violation " + std::to_string(static_cast<int>(violation.kind)) + ": " + violation.text + "\n";
    }
    void operator()(event::Reset&) { log += "reset\n"; }
    void operator()(event::Quit&) { log += "quit\n"; }
    void operator()(event::Disconnect& disconnect) {
        cause = disconnect.cause;
        ++disconnects;
        log += "disconnect " + std::to_string(static_cast<int>(disconnect.cause)) + "\n";
    }

    Monotonic now;
    ServerSession session;
    std::string sent, log, content;
    int messages = 0, disconnects = 0;
    event::Disconnect::Cause cause = event::Disconnect::Cause::lost;

private:
    void answer(const Reply& reply) { session.answer(reply, now); }
};

inline ServerSettings test_settings() {
    ServerSettings settings;
    settings.hostname = "mx.test";
    settings.message_size = 10'000;
    settings.capabilities.size = 10'000;
    settings.soft_errors = 100;
    settings.hard_errors = 200;
    return settings;
}

} // namespace smtp::testing

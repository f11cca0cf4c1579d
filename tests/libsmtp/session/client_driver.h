// Dialogues as a postmaster reads them: "S:" what the server says, "C:" what must be answered, all of it and
// nothing more. Each is played with the server's bytes whole, in sevens and one by one, and the content in
// one piece and in small ones: the same words must come out.
#pragma once
#include "libsmtp/session/client_session.h"
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

namespace smtp::testing {

using namespace std::chrono_literals;

constexpr std::string_view hello = "S: 220 mx.test ESMTP\n"
                                   "C: EHLO client.test\n";
constexpr std::string_view offers = "S: 250-mx.test\nS: 250-PIPELINING\nS: 250-SIZE 1000\nS: 250-8BITMIME\n"
                                    "S: 250-DSN\nS: 250 ENHANCEDSTATUSCODES\n";
constexpr std::string_view plain = "S: 250 mx.test\n";

struct Mail {
    Transaction transaction;
    std::string content = "Subject: x\r\n\r\nhi\r\n";
};

inline Mail mail(std::uint64_t id, std::vector<std::string> to = {"b@y"}) {
    Mail out;
    out.transaction.id = id;
    out.transaction.reverse_path = "a@x";
    for (auto& address : to) out.transaction.recipients.push_back({std::move(address), {}});
    return out;
}

inline std::string text(const Verdict& v) {
    constexpr std::string_view outcomes[] = {"delivered", "temporary", "permanent"};
    return fmt::format("{} {} {} [{}]{}", outcomes[static_cast<int>(v.outcome)], static_cast<int>(v.stage), v.status,
                       v.text, v.in_doubt ? " in doubt" : "");
}

inline std::string text(const TransactionResult& r) {
    std::string out;
    for (auto v : r.of_recipient) out += fmt::format("{}: {}\n", r.id, text(r.verdicts.at(v)));
    return out;
}

enum class Handshake { works, proves, fails }; // proves: the host's name, by its certificate

struct Driver {
    Driver(std::vector<Mail> mails, std::size_t bytes, std::size_t chunk, ClientSession::Options options)
        : bytes(bytes), chunk(chunk), mails(std::move(mails)), session(std::move(options), Monotonic{}) {}

    void pump() {
        while (auto event = session.next()) {
            if (std::holds_alternative<client_event::StartTls>(*event)) shake_hands();
            if (auto* wanted = std::get_if<client_event::AuthRequested>(&*event)) authenticate(wanted->mechanism);
            if (std::holds_alternative<client_event::Ready>(*event)) log += "up\n";
            if (auto* wanted = std::get_if<client_event::ContentRequested>(&*event)) give(*wanted);
            if (auto* finished = std::get_if<client_event::Finished>(&*event)) log += text(finished->result);
            if (auto* ended = std::get_if<client_event::Ended>(&*event)) {
                log += ended->orderly ? "ended well\n" : "ended: " + text(ended->why) + "\n";
                if (ended->interrupted) log += "interrupted " + text(*ended->interrupted);
                if (ended->distrust_pipelining) log += "no more pipelining\n";
                if (ended->distrust_chunking) log += "no more chunking\n";
            }
        }
        while (handed < mails.size() && session.can_deliver() && (eager || session.idle()))
            session.deliver(mails[handed++].transaction, now);
        if (quit && handed == mails.size()) session.quit(now);
    }
    void shake_hands() {
        if (session.over()) return;
        log += "handshake\n";
        if (handshake == Handshake::fails)
            session.tls_failed("no common cipher", now);
        else
            session.tls_up(
                handshake == Handshake::proves ? ClientSession::Peer::verified : ClientSession::Peer::unverified, now);
    }
    void authenticate(SaslMechanism mechanism) {
        if (session.over()) return;
        log += fmt::format("auth {}\n", name_of(mechanism));
        if (auto client = sasl ? sasl(mechanism) : std::nullopt)
            session.authenticate(*std::move(client), now);
        else
            session.auth_failed("4.7.8", "there is no token today", now);
    }
    void give(const client_event::ContentRequested& wanted) {
        const auto& content = mails.at(wanted.id - 1).content;
        if (wanted.from_start) at = 0;
        auto part = std::string_view(content).substr(at, chunk);
        at += part.size();
        if (at == content.size())
            session.content_end(now, part);
        else
            session.content(part, now);
    }
    void write() {
        for (bool more = true; more;) {
            pump();
            std::vector<std::string_view> views;
            session.output(views);
            std::size_t size = 0;
            for (auto v : views) sent.append(v), size += v.size();
            session.wrote(size, now);
            more = size > 0;
        }
    }
    void feed(std::string_view wire) {
        for (; !wire.empty(); wire.remove_prefix(std::min(bytes, wire.size()))) {
            session.feed(wire.substr(0, bytes), now);
            write();
        }
    }
    void play(std::string_view script) {
        std::string incoming;
        auto flush = [&] {
            write();
            feed(std::exchange(incoming, {}));
            write();
        };
        while (!script.empty()) {
            const auto line = script.substr(0, script.find('\n'));
            script.remove_prefix(std::min(line.size() + 1, script.size()));
            const auto words = line.substr(std::min<std::size_t>(3, line.size()));
            if (line.starts_with("S:")) {
                CHECK(sent == "");
                if (words == "(closes)")
                    flush(), session.end_of_input(now);
                else if (words == "(silence)")
                    flush(), now = *session.next_deadline(), session.expired(now);
                else
                    incoming.append(words).append("\r\n");
            } else {
                flush();
                const auto wanted = std::string(words) + "\r\n";
                CHECK_MESSAGE(sent.starts_with(wanted), "wanted ", wanted, " sent ", sent);
                sent.erase(0, wanted.size());
            }
        }
        flush();
        CHECK(sent == "");
    }

    std::size_t bytes, chunk;
    std::vector<Mail> mails;
    ClientSession session;
    Monotonic now{};
    std::size_t handed = 0, at = 0;
    bool eager = true, quit = false;
    Handshake handshake = Handshake::works;
    std::function<std::optional<SaslClient>(SaslMechanism)> sasl = {};
    std::string sent, log;
};

struct Setup {
    bool eager = true, quit = false;
    ClientSession::Pipelining pipelining = ClientSession::Pipelining::if_offered;
    ClientSession::StartTls tls = ClientSession::StartTls::never;
    Handshake handshake = Handshake::works;
    std::function<std::string(std::string_view)> ascii_domain = {};
    ClientSession::Auth auth = {};
    std::function<std::optional<SaslClient>(SaslMechanism)> sasl = {};
    Protocol protocol = Protocol::smtp;
    ClientSession::Chunking chunking = ClientSession::Chunking::if_useful;
    std::vector<std::size_t> chunks = {std::size_t{1} << 20, std::size_t{3}}; // content in pieces of these sizes
};

inline void play(std::vector<Mail> mails, const std::string& script, std::string_view log, Setup setup = {}) {
    for (std::size_t bytes : {std::size_t{1} << 20, std::size_t{7}, std::size_t{1}}) {
        for (std::size_t chunk : setup.chunks) {
            Driver driver(mails, bytes, chunk,
                          {"client.test",
                           "mx.test[192.0.2.1]",
                           setup.pipelining,
                           setup.tls,
                           {},
                           setup.ascii_domain,
                           setup.auth,
                           false,
                           setup.protocol,
                           setup.chunking});
            driver.sasl = setup.sasl;
            driver.handshake = setup.handshake;
            driver.eager = setup.eager;
            driver.quit = setup.quit;
            driver.play(script);
            CHECK(driver.log == log);
        }
    }
}

inline std::string script(std::initializer_list<std::string_view> parts) {
    return fmt::format("{}", fmt::join(parts, ""));
}

constexpr std::string_view group = "C: MAIL FROM:<a@x>\nC: RCPT TO:<b@y>\nC: DATA\n";
constexpr std::string_view group_ok = "S: 250 2.1.0 Ok\nS: 250 2.1.5 Ok\nS: 354 Go\n";
constexpr std::string_view body = "C: Subject: x\nC: \nC: hi\nC: .\n";
constexpr std::string_view delivered = "delivered 11 2.0.0 [250 2.0.0 Ok: queued as 1]\n";

} // namespace smtp::testing

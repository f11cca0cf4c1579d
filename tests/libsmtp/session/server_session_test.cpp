#include "tests/libsmtp/session/server_conversation.h"
#include <doctest/doctest.h>

using namespace smtp;
using namespace smtp::testing;
using namespace std::chrono_literals;
using namespace std::string_literals;
using Cause = event::Disconnect::Cause;

TEST_CASE("a conversation, whole, in sevens and byte by byte") {
    const auto settings = test_settings();
    const std::vector<std::string> groups = {
        "EHLO client.example\r\n",
        "MAIL FROM:<a@x> SIZE=100\r\nRCPT TO:<nobody@x>\r\nRCPT TO:<b@x> NOTIFY=NEVER\r\nDATA\r\n",
        "Subject: hi\r\n\r\n..dot\r\n.\r\nMAIL FROM:<>\r\nRSET\r\nRCPT TO:<b@x>\r\nVRFY b\r\nFOO "
        "bar\r\nNOOP\r\nQUIT\r\n",
    };
    const auto whole = converse(groups, 10000, settings);
    CHECK(whole.sent ==
          greeting(settings) +
              "250-mx.test\r\n250-PIPELINING\r\n250-SIZE 10000\r\n250-VRFY\r\n250-ENHANCEDSTATUSCODES\r\n"
              "250-8BITMIME\r\n250 DSN\r\n"
              "250 2.1.0 Ok\r\n550 5.1.1 <nobody@x>: User unknown\r\n250 2.1.5 Ok\r\n"
              "354 End data with <CR><LF>.<CR><LF>\r\n250 2.0.0 Ok: queued as 0A1B2C3D4E5F01\r\n"
              "250 2.1.0 Ok\r\n250 2.0.0 Ok\r\n503 5.5.1 Error: need MAIL command\r\n"
              "252 2.1.5 Send some mail, I will try my best\r\n502 5.5.2 Error: command not recognized\r\n"
              "250 2.0.0 Ok\r\n221 2.0.0 Bye\r\n");
    CHECK(whole.log ==
          "ehlo client.example\nmail <a@x>\nrcpt <nobody@x>\nrcpt <b@x>\nmessage Subject: hi\r\n\r\n.dot\r\n\n"
          "mail <>\nreset\nrefused RCPT: 503 5.5.1 Error: need MAIL command\nquit\ndisconnect 0\n");
    for (std::size_t length : {1, 7}) CHECK(converse(groups, length, settings) == whole);
}

TEST_CASE("statistics and the last command, as logs show them") {
    const auto settings = test_settings();
    ServerPeer peer(settings);
    CHECK(peer.session.last_command() == "CONNECT");
    peer.feed("EHLO c\r\n");
    peer.feed("MAIL FROM:<a@x>\r\nRCPT TO:<nobody@x>\r\n");
    CHECK(peer.session.last_command() == "RCPT");
    peer.feed("RCPT TO:<b@x>\r\nDATA\r\n");
    peer.feed("four\r\n");
    CHECK(peer.session.last_command() == "DATA (6 bytes)");
    peer.feed(".\r\n");
    CHECK(peer.session.last_command() == "END-OF-MESSAGE");
    peer.feed("WHAT\r\n");
    CHECK(peer.session.last_command() == "UNKNOWN");
    peer.feed("QUIT\r\n");
    CHECK(peer.session.statistics() == "ehlo=1 mail=1 rcpt=1/2 data=1 quit=1 unknown=0/1 commands=5/7");
    CHECK(peer.session.closed());
}

TEST_CASE("losing the client") {
    const auto settings = test_settings();
    SUBCASE("in a transaction: it is gone, once") {
        ServerPeer peer(settings);
        peer.feed("EHLO c\r\n");
        peer.feed("MAIL FROM:<a@x>\r\nRCPT TO:<b@x>\r\nDATA\r\n");
        peer.feed("half a mess");
        peer.hang_up();
        peer.hang_up();
        CHECK(peer.log == "ehlo c\nmail <a@x>\nrcpt <b@x>\nreset\ndisconnect 1\n");
        CHECK(peer.messages == 0);
        CHECK(peer.session.last_command() == "DATA (11 bytes)");
    }
    SUBCASE("while the answer to the final dot is being made: the message is accepted all the same") {
        ServerSession session(settings, Monotonic());
        const auto feed = [&](std::string_view bytes) { session.feed(bytes, Monotonic()); };
        const auto until = [&]<class E>(E*) {
            while (auto event = session.next()) {
                if (std::get_if<E>(&*event)) return true;
                if (!session.question_open()) continue;
                session.answer({std::get_if<event::Data>(&*event) ? 354 : 250, {}, "ok"}, Monotonic());
            }
            return false;
        };
        session.next();
        session.answer({220, {}, ""}, Monotonic());
        feed("EHLO c\r\n");
        until(static_cast<event::Quit*>(nullptr));
        feed("MAIL FROM:<a@x>\r\nRCPT TO:<b@x>\r\nDATA\r\n");
        until(static_cast<event::Quit*>(nullptr));
        feed("x\r\n.\r\n");
        REQUIRE(until(static_cast<event::EndOfData*>(nullptr)));
        CHECK_FALSE(session.next_deadline());
        session.disconnected();
        CHECK_FALSE(session.next());
        session.answer({250, {2, 0, 0}, "Ok"}, Monotonic());
        auto last = session.next();
        REQUIRE(last);
        CHECK(std::get<event::Disconnect>(*last).cause == Cause::lost);
        CHECK_FALSE(session.next());
    }
}

TEST_CASE("deadlines") {
    auto settings = test_settings();
    SUBCASE("a command has its time, however the bytes drip") {
        ServerPeer peer(settings);
        for (int i = 0; i < 10 && !peer.session.closed(); ++i) {
            peer.feed("N");
            peer.advance(59s);
        }
        CHECK(peer.cause == Cause::timed_out);
        CHECK(peer.sent.ends_with("421 4.4.2 mx.test Error: timeout exceeded\r\n"));
    }
    SUBCASE("an answer starts it anew") {
        ServerPeer peer(settings);
        for (int i = 0; i < 10; ++i) {
            peer.advance(299s);
            peer.feed("NOOP\r\n");
        }
        CHECK_FALSE(peer.session.closed());
    }
    SUBCASE("content below the minimum rate") {
        ServerPeer peer(settings);
        peer.feed("EHLO c\r\n");
        peer.feed("MAIL FROM:<a@x>\r\nRCPT TO:<b@x>\r\nDATA\r\n");
        for (int i = 0; i < 3; ++i) {
            peer.feed("x");
            peer.advance(20s);
        }
        CHECK(peer.cause == Cause::timed_out);
        CHECK(peer.messages == 0);
        CHECK(peer.log.find("reset") != peer.log.npos);
    }
    SUBCASE("content above it") {
        settings.message_size = 0;
        ServerPeer peer(settings);
        peer.feed("EHLO c\r\n");
        peer.feed("MAIL FROM:<a@x>\r\nRCPT TO:<b@x>\r\nDATA\r\n");
        for (int i = 0; i < 30; ++i) {
            peer.feed(std::string(3000, 'x'));
            peer.advance(20s);
        }
        peer.feed("\r\n.\r\n");
        CHECK(peer.messages == 1);
    }
}

TEST_CASE("content in chunks has a least rate as a whole") {
    auto settings = test_settings();
    settings.capabilities.chunking = true;
    settings.message_size = 0;
    SUBCASE("a byte at a time, between which it waits") {
        ServerPeer peer(settings);
        peer.feed("EHLO c\r\n");
        peer.feed("MAIL FROM:<a@x>\r\nRCPT TO:<b@x>\r\n");
        for (int i = 0; i < 20 && !peer.session.closed(); ++i) {
            peer.feed("BDAT 1\r\nx");
            peer.advance(50s);
        }
        CHECK(peer.cause == Cause::timed_out);
        CHECK(peer.sent.ends_with("421 4.4.2 mx.test Error: timeout exceeded\r\n"));
        CHECK(peer.messages == 0);
    }
    SUBCASE("enough of it, in chunks that come with their commands") {
        ServerPeer peer(settings);
        peer.feed("EHLO c\r\n");
        peer.feed("MAIL FROM:<a@x>\r\nRCPT TO:<b@x>\r\n");
        for (int i = 0; i < 30; ++i) {
            peer.feed("BDAT 3000\r\n" + std::string(3000, 'x'));
            peer.advance(20s);
        }
        peer.feed("BDAT 2 LAST\r\n\r\n");
        CHECK(peer.messages == 1);
        peer.advance(200s); // a session without a message has its usual time
        CHECK_FALSE(peer.session.closed());
    }
}

TEST_CASE("recipients refused for the time being are errors too, a tenth of one each") {
    auto settings = test_settings();
    settings.soft_errors = 2;
    settings.hard_errors = 4;
    const auto feed = [&](ServerPeer& peer,
                          int most) { // how many were answered at once, before the first that was held
        int at_once = 0;
        for (int i = 0; i < most && !peer.session.closed(); ++i) {
            peer.feed("RCPT TO:<someone@later.example>\r\n");
            if (peer.session.next_deadline() && peer.session.wants_input() && at_once == i) ++at_once;
            peer.advance(1s);
        }
        return at_once;
    };
    SUBCASE("nobody but those: delayed, then sent away") {
        ServerPeer peer(settings);
        peer.feed("EHLO c\r\n");
        peer.feed("MAIL FROM:<a@x>\r\n");
        CHECK(feed(peer, 1000) == 19);
        CHECK(peer.cause == Cause::too_many_errors);
        CHECK(peer.session.statistics().starts_with("ehlo=1 mail=1 rcpt=0/40 "));
    }
    SUBCASE("beside one that is taken: delayed, and the message gets through") {
        ServerPeer peer(settings);
        peer.feed("EHLO c\r\n");
        peer.feed("MAIL FROM:<a@x>\r\nRCPT TO:<b@x>\r\n");
        feed(peer, 100);
        peer.feed("DATA\r\n");
        peer.feed(".\r\n");
        CHECK(peer.messages == 1);
    }
}

TEST_CASE("what a watched client does is reported once, before it has an effect") {
    auto settings = test_settings();
    ServerPeer peer(settings);
    peer.session.watch({.pipelining = true, .non_smtp = true, .bare_newlines = true});
    peer.sent.clear();
    peer.feed("EHLO c\r\n");
    CHECK(peer.sent.find("PIPELINING") == std::string::npos); // not offered
    peer.log.clear();
    peer.feed("MAIL FROM:<a@x>\r\nRCPT TO:<b@x>\r\nDATA\r\n");
    CHECK(peer.log == "violation 0: RCPT TO:<b@x>\r\nDATA\r\n\nmail <a@x>\nrcpt <b@x>\n");
    peer.feed(".\r\n");
    peer.log.clear();
    peer.feed("Subject: x\r\nSubject: x\r\n");
    CHECK(peer.log == "violation 1: Subject: x\n");
    peer.log.clear();
    peer.feed("NOOP\n");
    CHECK(peer.log == "violation 2: NOOP\nrefused UNKNOWN: 500 5.5.2 Error: lines must end in CR LF; bare CR or LF is "
                      "not allowed\n");
    peer.sent.clear();
    peer.feed("EHLO c\r\n");
    CHECK(peer.sent.find("PIPELINING") != std::string::npos);
}

TEST_CASE("a chunk that follows its BDAT at once is no violation") {
    auto settings = test_settings();
    settings.capabilities.chunking = true;
    ServerPeer peer(settings);
    peer.session.watch({.pipelining = true});
    for (const auto* line : {"EHLO c\r\n", "MAIL FROM:<a@x>\r\n", "RCPT TO:<b@x>\r\n"}) peer.feed(line);
    peer.feed("BDAT 6 LAST\r\nabcd\r\n");
    CHECK(peer.log.find("violation") == std::string::npos);
    CHECK(peer.messages == 1);
}

TEST_CASE("commands that are no header fields are not reported as such") {
    auto settings = test_settings();
    for (const auto* line :
         {"MAIL FROM:<a@x>\r\n", "RCPT TO:<a@x>\r\n", "VRFY a:b\r\n", "XYZZY\r\n", "EHLO [IPv6:::1]\r\n"}) {
        CAPTURE(line);
        ServerPeer peer(settings);
        peer.feed("EHLO c\r\n");
        peer.session.watch({.non_smtp = true});
        peer.feed(line);
        CHECK(peer.log.find("violation") == std::string::npos);
    }
    ServerPeer peer(settings);
    peer.session.watch({.non_smtp = true});
    peer.feed("GET / HTTP/1.1\r\n");
    CHECK(peer.log.starts_with("violation 1: GET / HTTP/1.1\n"));
    CHECK(peer.cause == Cause::not_smtp);
}

TEST_CASE("a greeting in two parts, and input that comes between them") {
    using After = smtp::ServerSession::AfterReply;
    auto settings = test_settings();
    const smtp::Monotonic now{1h};
    for (const bool read_on : {false, true}) {
        CAPTURE(read_on);
        smtp::ServerSession session(settings, now);
        REQUIRE(session.next());
        session.answer({220, {}, ""}, now, After::announce);
        CHECK(session.question_open());
        CHECK(session.output() == "220-" + settings.hostname + " " + settings.banner + "\r\n");
        session.feed("EHLO hasty\r\n", now);
        CHECK(session.unparsed() == "EHLO hasty\r\n");
        session.answer({220, {}, ""}, now, read_on ? After::read_on : After::proceed);
        CHECK(session.output().starts_with(read_on ? "220 " : "554 5.5.0 "));
        CHECK(session.ending() == !read_on);
    }
}

TEST_CASE("errors cost time, then the session") {
    auto settings = test_settings();
    settings.soft_errors = 2;
    settings.hard_errors = 4;
    ServerPeer peer(settings);
    peer.sent.clear();
    peer.feed("X\r\n");
    CHECK(peer.sent == "502 5.5.2 Error: command not recognized\r\n");
    peer.sent.clear();
    peer.feed("X\r\nNOOP\r\n");
    CHECK(peer.sent.empty()); // held back
    CHECK_FALSE(peer.session.wants_input());
    peer.advance(999ms);
    CHECK(peer.sent.empty());
    peer.advance(1ms);
    CHECK(peer.sent == "502 5.5.2 Error: command not recognized\r\n250 2.0.0 Ok\r\n");
    peer.feed("X\r\n");
    peer.advance(1s);
    peer.feed("X\r\nNOOP\r\n");
    CHECK(peer.cause == Cause::too_many_errors);
    CHECK(
        peer.sent.ends_with("502 5.5.2 Error: command not recognized\r\n421 4.7.0 mx.test Error: too many errors\r\n"));
}

TEST_CASE("junk commands become errors") {
    auto settings = test_settings();
    settings.junk_commands = 5;
    settings.hard_errors = 3;
    ServerPeer peer(settings);
    for (int i = 0; i < 8; ++i) peer.feed("NOOP\r\n");
    CHECK(peer.cause == Cause::too_many_errors);
}

TEST_CASE("recipients over the limit are put off, and nothing grows") {
    auto settings = test_settings();
    settings.recipients = 10;
    settings.hard_errors = 5;
    ServerPeer peer(settings);
    peer.feed("EHLO c\r\n");
    peer.feed("MAIL FROM:<a@x>\r\n");
    for (int i = 0; i < 1000; ++i) peer.feed("RCPT TO:<b@x>\r\n");
    CHECK(peer.session.recipients() == 10);
    CHECK(peer.sent.ends_with("452 4.5.3 Error: too many recipients\r\n"));
    peer.feed("DATA\r\n");
    peer.feed(".\r\n");
    CHECK(peer.messages == 1);
}

TEST_CASE("who goes on naming recipients over the limit is sent away") {
    auto settings = test_settings();
    settings.recipients = 10;
    settings.soft_errors = 3;
    settings.hard_errors = 5;
    ServerPeer peer(settings);
    peer.feed("EHLO c\r\n");
    peer.feed("MAIL FROM:<a@x>\r\n");
    for (int i = 0; i < 99'000 && !peer.session.closed(); ++i) {
        peer.feed("RCPT TO:<b@x>\r\n");
        peer.advance(0s);
        if (!peer.session.wants_input()) peer.advance(1s);
    }
    CHECK(peer.cause == Cause::too_many_errors);
    CHECK(peer.session.statistics().find("rcpt=10/1015 ") != std::string::npos);
    CHECK(peer.now >= Monotonic(1h) + 2s);
}

TEST_CASE("a size that no number holds is too large, as one that is") {
    for (std::uint64_t most : {0, 10'000}) {
        auto settings = test_settings();
        settings.message_size = most;
        ServerPeer peer(settings);
        peer.feed("EHLO c\r\n");
        for (const char* size : {"9223372036854775807", "9223372036854775808", "18446744073709551616",
                                 "99999999999999999999999999999999999999"}) {
            peer.sent.clear();
            peer.feed(std::string("MAIL FROM:<a@x> SIZE=") + size + "\r\n");
            CHECK(peer.sent == "552 5.3.4 Message size exceeds fixed limit\r\n");
        }
        peer.sent.clear();
        peer.feed("MAIL FROM:<a@x> SIZE=000000000000000000000000000000100\r\n");
        CHECK(peer.sent == "250 2.1.0 Ok\r\n");
    }
}

TEST_CASE("a message over the limit is read to its end, then refused; far over it the session ends") {
    auto settings = test_settings();
    settings.message_size = 100;
    settings.skipped = 1000;
    for (std::size_t length : {std::size_t{1}, std::size_t{7}, std::size_t{100000}}) {
        const auto over = converse(
            {"EHLO c\r\n", "MAIL FROM:<a@x>\r\nRCPT TO:<b@x>\r\nDATA\r\n", std::string(99, 'x') + "\r\n.\r\nNOOP\r\n"},
            length, settings);
        CHECK(over.sent.ends_with("552 5.3.4 Message size exceeds fixed limit\r\n250 2.0.0 Ok\r\n"));
        CHECK(over.log.ends_with("refused END-OF-MESSAGE: 552 5.3.4 Message size exceeds fixed limit\nreset\n"));
    }
    ServerPeer peer(settings);
    peer.feed("EHLO c\r\n");
    peer.feed("MAIL FROM:<a@x>\r\nRCPT TO:<b@x>\r\nDATA\r\n");
    for (int i = 0; i < 100; ++i) peer.feed(std::string(100, 'x'));
    CHECK(peer.cause == Cause::turned_away);
    CHECK(peer.sent.ends_with("552 5.3.4 Message size exceeds fixed limit\r\n"));
}

TEST_CASE("talking too early") {
    const auto settings = test_settings();
    SUBCASE("before the banner") {
        ServerSession session(settings, Monotonic());
        session.feed("EHLO c\r\n", Monotonic());
        REQUIRE(std::holds_alternative<event::Connect>(session.next().value()));
        session.answer({220, {}, ""}, Monotonic());
        CHECK(std::get<event::Disconnect>(*session.next()).cause == Cause::too_early);
        CHECK(session.output() == "554 5.5.0 Error: SMTP protocol synchronization\r\n");
        CHECK(session.unexpected_input() == "EHLO c");
    }
    SUBCASE("after EHLO") {
        ServerPeer peer(settings);
        peer.feed("EHLO c\r\nMAIL FROM:<a@x>\r\n");
        CHECK(peer.cause == Cause::too_early);
        CHECK(peer.sent.ends_with("554 5.5.0 Error: SMTP protocol synchronization\r\n"));
    }
    SUBCASE("after DATA") {
        ServerPeer peer(settings);
        peer.feed("EHLO c\r\n");
        peer.feed("MAIL FROM:<a@x>\r\nRCPT TO:<b@x>\r\nDATA\r\nhello\r\n.\r\n");
        CHECK(peer.cause == Cause::too_early);
        CHECK(peer.messages == 0);
        CHECK(peer.log.find("reset") != peer.log.npos);
    }
    SUBCASE("after AUTH, with what is no business of the log") {
        auto offering = settings;
        offering.capabilities.auth = "PLAIN";
        ServerSession session(offering, Monotonic());
        REQUIRE(session.next());
        session.answer({220, {}, ""}, Monotonic());
        session.feed("EHLO c\r\n", Monotonic());
        REQUIRE(session.next());
        session.answer({250, {}, ""}, Monotonic());
        session.feed("AUTH PLAIN\r\nAGFubgBzZWNyZXQ=\r\n", Monotonic());
        REQUIRE(std::holds_alternative<event::Auth>(session.next().value()));
        session.answer({334, {}, ""}, Monotonic());
        CHECK(std::get<event::Disconnect>(*session.next()).cause == Cause::too_early);
        CHECK(session.unexpected_input() == "");
    }
    SUBCASE("unless it is tolerated") {
        auto lenient = settings;
        lenient.early_bytes = ServerSettings::EarlyBytes::tolerate;
        ServerPeer peer(lenient);
        peer.feed("EHLO c\r\nMAIL FROM:<a@x>\r\nRCPT TO:<b@x>\r\nDATA\r\nhello\r\n.\r\nQUIT\r\n");
        CHECK(peer.messages == 1);
        CHECK(peer.cause == Cause::quit);
    }
}

TEST_CASE("what is no SMTP gets one 5xx and is closed") {
    const auto settings = test_settings();
    for (auto noise : {"GET / HTTP/1.1\r\nHost: x\r\n\r\n"s, "\x16\x03\x01\x02\0\x01"s, "\0\0\0"s, "\xff\xfd\x18"s,
                       "POST /x HTTP/1.0\r\n\r\n"s, "EHLO \x01\x02\r\n"s, "abc\0def\n"s}) {
        for (auto& way : pieces::every_way(noise)) {
            ServerPeer peer(settings);
            for (auto piece : way) peer.feed(piece);
            CHECK(peer.sent == greeting(settings) + "500 5.5.1 Error: this is an SMTP server\r\n");
            CHECK(peer.cause == Cause::not_smtp);
            CHECK(peer.disconnects == 1);
        }
    }
}

TEST_CASE("shutting down") {
    const auto settings = test_settings();
    const Reply bye{421, {4, 3, 2}, "mx.test Service shutting down"};
    SUBCASE("idle: at once") {
        ServerPeer peer(settings);
        peer.session.shut_down(bye, peer.now, ServerSession::When::after_transaction);
        peer.pump();
        CHECK(peer.sent.ends_with("421 4.3.2 mx.test Service shutting down\r\n"));
        CHECK(peer.cause == Cause::shut_down);
    }
    SUBCASE("after the transaction") {
        ServerPeer peer(settings);
        peer.feed("EHLO c\r\n");
        peer.feed("MAIL FROM:<a@x>\r\n");
        peer.session.shut_down(bye, peer.now, ServerSession::When::after_transaction);
        peer.feed("RCPT TO:<b@x>\r\nDATA\r\n");
        peer.feed("x\r\n.\r\n");
        CHECK(peer.messages == 1);
        CHECK(peer.sent.ends_with(
            "250 2.0.0 Ok: queued as 0A1B2C3D4E5F01\r\n421 4.3.2 mx.test Service shutting down\r\n"));
    }
    SUBCASE("now, in content") {
        ServerPeer peer(settings);
        peer.feed("EHLO c\r\n");
        peer.feed("MAIL FROM:<a@x>\r\nRCPT TO:<b@x>\r\nDATA\r\n");
        peer.session.shut_down(bye, peer.now, ServerSession::When::now);
        peer.pump();
        CHECK(peer.cause == Cause::shut_down);
        CHECK(peer.log.find("reset") != peer.log.npos);
    }
}

// Every string of up to six commands against a model that fits in a few lines.
TEST_CASE("every short conversation, against a reference") {
    enum Word { ehlo, helo, mail, rcpt, bad_rcpt, data, rset, noop, count };
    static const std::string lines[] = {
        "EHLO c\r\n", "HELO c\r\n", "MAIL FROM:<a@x>\r\n", "RCPT TO:<b@x>\r\n", "RCPT TO:<nobody@x>\r\n", "DATA\r\n",
        "RSET\r\n",   "NOOP\r\n"};
    struct Model {
        bool greeted = false, in_mail = false, recipient = false;
        int step(Word word) {
            switch (word) {
            case ehlo:
            case helo: *this = {true, false, false}; return 250;
            case mail:
                if (!greeted || in_mail) return 503;
                in_mail = true;
                recipient = false;
                return 250;
            case rcpt:
            case bad_rcpt:
                if (!in_mail) return 503;
                if (word == bad_rcpt) return 550;
                recipient = true;
                return 250;
            case data:
                if (!in_mail) return 503;
                if (!recipient) return 554;
                in_mail = false;
                return 354; // and the message with it
            case rset: in_mail = false; return 250;
            default: return 250;
            }
        }
    };
    auto settings = test_settings();
    int conversations = 0, wrong = 0;
    std::size_t total = 1;
    for (int length = 1; length <= 5; ++length) {
        total *= count;
        for (std::size_t n = 0; n < total; ++n) {
            Model model;
            ServerPeer peer(settings);
            auto rest = n;
            for (int i = 0; i < length; ++i, rest /= count) {
                const auto word = static_cast<Word>(rest % count);
                const auto want = model.step(word);
                peer.sent.clear();
                peer.feed(lines[word]);
                wrong += !peer.sent.starts_with(std::to_string(want));
                if (want == 354) {
                    peer.sent.clear();
                    peer.feed("x\r\n.\r\n");
                    wrong += peer.sent != "250 2.0.0 Ok: queued as 0A1B2C3D4E5F01\r\n";
                }
                wrong += peer.session.in_transaction() != model.in_mail;
            }
            ++conversations;
        }
    }
    CHECK(conversations == 37448);
    CHECK(wrong == 0);
}

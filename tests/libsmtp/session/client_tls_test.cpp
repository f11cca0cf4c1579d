// STARTTLS and REQUIRETLS from the client's side, as dialogues.
#include "tests/libsmtp/session/client_driver.h"

using namespace smtp;
using namespace smtp::testing;

constexpr std::string_view tls_offered = "S: 250-mx.test\nS: 250-STARTTLS\nS: 250 SIZE 10\n";

TEST_CASE("STARTTLS where it is offered; what was offered before it is forgotten") {
    auto m = mail(1);
    m.transaction.parameters.size = 18; // the size limit was said in plain text
    play({m},
         script({hello, tls_offered, "C: STARTTLS\nS: 220 Go ahead\nC: EHLO client.test\n", offers,
                 "C: MAIL FROM:<a@x> SIZE=18\nC: RCPT TO:<b@y>\nC: DATA\n", group_ok, body,
                 "S: 250 2.0.0 Ok: queued as 1\nC: QUIT\n"}),
         fmt::format("handshake\nup\n1: {}ended well\n", delivered),
         {.quit = true, .tls = ClientSession::StartTls::if_offered});
}

TEST_CASE("without STARTTLS mail goes in plain text, unless TLS is required") {
    using Tls = ClientSession::StartTls;
    const auto in_plain = script({group, group_ok, body, "S: 250 2.0.0 Ok: queued as 1\nC: QUIT\n"});
    const auto sent = fmt::format("up\n1: {}ended well\n", delivered);
    play({mail(1)}, script({hello, offers, in_plain}), sent, {.quit = true, .tls = Tls::if_offered});
    play({mail(1)},
         script({hello, "S: 250-mx.test\nS: 250-STARTTLS\nS: 250 PIPELINING\n",
                 "C: STARTTLS\nS: 454 4.7.0 No TLS today\n", in_plain}),
         sent, {.quit = true, .tls = Tls::if_offered});

    play({mail(1)}, script({hello, offers, "C: QUIT\n"}),
         "ended: temporary 5 4.7.4 [TLS is required, but was not offered by host mx.test[192.0.2.1]]\n",
         {.tls = Tls::always});
    play({mail(1)}, script({hello, "S: 502 What?\nC: HELO client.test\nS: 250 mx.test\nC: QUIT\n"}),
         "ended: temporary 5 4.7.4 [TLS is required, but was not offered by host mx.test[192.0.2.1]]\n",
         {.tls = Tls::always});
    play({mail(1)}, script({hello, tls_offered, "C: STARTTLS\nS: 554 5.7.3 Never\nC: QUIT\n"}),
         "ended: temporary 5 4.7.5 [host mx.test[192.0.2.1] said: 554 5.7.3 Never (in reply to STARTTLS "
         "command)]\n",
         {.tls = Tls::always});
}

TEST_CASE("a handshake that fails, hangs or is cut off ends the conversation") {
    const Setup setup{.tls = ClientSession::StartTls::if_offered, .handshake = Handshake::fails};
    const auto go = script({hello, tls_offered, "C: STARTTLS\nS: 220 Go\n"});
    play({mail(1)}, go, "handshake\nended: temporary 5 4.7.5 [no common cipher]\n", setup);

    for (bool hangs : {true, false}) {
        Driver driver({mail(1)}, 1 << 20, 1 << 20,
                      {"client.test", "mx.test[192.0.2.1]", ClientSession::Pipelining::if_offered,
                       ClientSession::StartTls::if_offered});
        for (std::string_view wire : {"220 mx.test\r\n", "250-mx.test\r\n250 STARTTLS\r\n", "220 Go\r\n"})
            driver.session.feed(wire, driver.now);
        REQUIRE(driver.session.next_deadline());
        driver.now = *driver.session.next_deadline();
        hangs ? driver.session.expired(driver.now) : driver.session.end_of_input(driver.now);
        driver.handed = driver.mails.size(); // nothing more to say
        driver.pump();
        CHECK(driver.log ==
              fmt::format("ended: temporary 5 4.4.2 [{}]\n",
                          hangs ? "conversation with mx.test[192.0.2.1] timed out while performing the TLS handshake"
                                : "lost connection with mx.test[192.0.2.1] while performing the TLS handshake"));
    }
}

TEST_CASE("plain text behind the reply to STARTTLS is never read") {
    Driver driver(
        {mail(1)}, 1 << 20, 1 << 20,
        {"client.test", "mx.test[192.0.2.1]", ClientSession::Pipelining::if_offered, ClientSession::StartTls::always});
    driver.play(script({hello, tls_offered, "C: STARTTLS\nS: 220 Go\nS: 250 AUTH PLAIN\n"}));
    CHECK(driver.log == "ended: temporary 5 4.5.0 [protocol error from mx.test[192.0.2.1] while performing "
                        "the TLS handshake: it continued in plain text]\n");
}

TEST_CASE("what requires TLS goes to who proves its name and promises the same") {
    auto secret = mail(1);
    secret.transaction.require_tls = true;
    constexpr std::string_view promises = "S: 250-mx.test\nS: 250 REQUIRETLS\n";
    const auto begin = script({hello, tls_offered, "C: STARTTLS\nS: 220 Go\nC: EHLO client.test\n"});
    const Setup proven{.tls = ClientSession::StartTls::if_offered, .handshake = Handshake::proves};
    play({secret},
         script({begin, promises, "C: MAIL FROM:<a@x> REQUIRETLS\nS: 250 Ok\nC: RCPT TO:<b@y>\nS: 250 Ok\n",
                 "C: DATA\nS: 354 Go\n", body, "S: 250 2.0.0 Ok: queued as 1\n"}),
         fmt::format("handshake\nup\n1: {}", delivered), proven);
    const auto refused = [](std::string_view why) {
        return fmt::format("handshake\nup\n1: permanent 7 5.7.30 [message requires TLS on the whole path "
                           "(REQUIRETLS), and host mx.test[192.0.2.1] {}]\n",
                           why);
    };
    play({secret}, script({begin, offers}), refused("does not offer REQUIRETLS"), proven);
    play({secret}, script({begin, promises}), refused("has no certificate that proves its name"),
         {.tls = ClientSession::StartTls::if_offered});
}

TEST_CASE("wrapped: TLS comes first, then the greeting; STARTTLS is never said") {
    const Setup setup{.quit = true, .tls = ClientSession::StartTls::wrapped};
    play({mail(1)},
         script({hello, tls_offered,
                 "C: MAIL FROM:<a@x>\nS: 250 Ok\nC: RCPT TO:<b@y>\nS: 250 Ok\nC: DATA\n"
                 "S: 354 Go\n",
                 body, "S: 250 2.0.0 Ok: queued as 1\nC: QUIT\n"}),
         fmt::format("handshake\nup\n1: {}ended well\n", delivered), setup);
    play({mail(1)}, "", "handshake\nended: temporary 5 4.7.5 [no common cipher]\n",
         {.tls = ClientSession::StartTls::wrapped, .handshake = Handshake::fails});
}

TEST_CASE("wrapped: who speaks before TLS does is not believed") {
    ClientSession session({.name = "client.test", .peer = "mx[192.0.2.1]", .tls = ClientSession::StartTls::wrapped},
                          {});
    session.feed("220 mx.test\r\n", {});
    REQUIRE(std::holds_alternative<client_event::StartTls>(session.next().value()));
    const auto event = session.next();
    REQUIRE(event);
    const auto* ended = std::get_if<client_event::Ended>(&*event);
    REQUIRE(ended);
    CHECK(ended->why.stage == Stage::tls);
    CHECK(!ended->orderly);
    CHECK(!session.has_output());
}

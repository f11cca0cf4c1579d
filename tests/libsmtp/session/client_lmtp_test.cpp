// LMTP (RFC 2033): LHLO, and a reply for each accepted recipient behind the final dot.
#include "tests/libsmtp/session/client_driver.h"

using namespace smtp;
using namespace smtp::testing;

namespace {

constexpr std::string_view lhlo = "S: 220 store.test LMTP\nC: LHLO client.test\n";
constexpr std::string_view three =
    "C: MAIL FROM:<a@x>\nC: RCPT TO:<b@y>\nC: RCPT TO:<c@y>\nC: RCPT TO:<d@y>\nC: DATA\n";
const Setup lmtp = {.protocol = Protocol::lmtp};

std::string at_end(std::string_view outcome, std::string_view status, std::string_view line) {
    return fmt::format("{} 11 {} [host mx.test[192.0.2.1] said: {} (in reply to end of DATA command)]\n", outcome,
                       status, line);
}
constexpr std::string_view doubt = "temporary 11 4.4.2 [lost connection with mx.test[192.0.2.1] while sending end of "
                                   "data -- message may be sent more than once] in doubt\n";

} // namespace

TEST_CASE("each accepted recipient has a reply of its own behind the dot") {
    play(
        {mail(1, {"b@y", "c@y", "d@y"}), mail(2)},
        script({lhlo, offers, three, "S: 250 Ok\nS: 250 Ok\nS: 550 5.1.1 Who?\nS: 250 Ok\nS: 354 Go\n", body, group,
                "S: 250 2.0.0 Ok: queued as 1\nS: 452 4.2.2 Full\n", group_ok, body, "S: 250 2.0.0 Ok: queued as 1\n"}),
        fmt::format("up\n1: {0}1: permanent 8 5.1.1 [host mx.test[192.0.2.1] said: 550 5.1.1 Who? (in reply to RCPT "
                    "TO command)]\n1: {1}2: {0}",
                    delivered, at_end("temporary", "4.2.2", "452 4.2.2 Full")),
        lmtp);
    // Without pipelining, the next waits for all of them.
    play({mail(1, {"b@y", "c@y"}), mail(2)},
         script({lhlo, plain,
                 "C: MAIL FROM:<a@x>\nS: 250 Ok\nC: RCPT TO:<b@y>\nS: 250 Ok\nC: RCPT TO:<c@y>\nS: 250 Ok\nC: DATA\n"
                 "S: 354 Go\n",
                 body,
                 "S: 554 5.6.0 Spam\nS: 250 2.0.0 Ok: queued as 1\nC: MAIL FROM:<a@x>\nS: 250 Ok\nC: RCPT TO:<b@y>\n"
                 "S: 250 Ok\nC: DATA\nS: 354 Go\n",
                 body, "S: 250 2.0.0 Ok: queued as 1\nC: QUIT\n"}),
         fmt::format("up\n1: {1}1: {0}2: {0}ended well\n", delivered, at_end("permanent", "5.6.0", "554 5.6.0 Spam")),
         {.quit = true, .protocol = Protocol::lmtp});
}

TEST_CASE("the connection breaks between the replies: who was answered knows, the others are in doubt") {
    play({mail(1, {"b@y", "c@y", "d@y"}), mail(2)},
         script({lhlo, offers, three, "S: 250 Ok\nS: 250 Ok\nS: 250 Ok\nS: 250 Ok\nS: 354 Go\n", body, group,
                 "S: 250 2.0.0 Ok: queued as 1\nS: 550 5.2.2 Full\nS: (closes)\n"}),
         fmt::format("up\nended: {2}interrupted 1: {0}1: {1}1: {2}", delivered,
                     at_end("permanent", "5.2.2", "550 5.2.2 Full"), doubt),
         lmtp);
    // 421 is for one of them; the others' replies may still come, and then it is over.
    const auto leaving = at_end("temporary", "4.3.2", "421 4.3.2 Bye");
    play({mail(1, {"b@y", "c@y"}), mail(2)},
         script({lhlo, plain,
                 "C: MAIL FROM:<a@x>\nS: 250 Ok\nC: RCPT TO:<b@y>\nS: 250 Ok\nC: RCPT TO:<c@y>\nS: 250 Ok\nC: DATA\n"
                 "S: 354 Go\n",
                 body, "S: 421 4.3.2 Bye\nS: 250 2.0.0 Ok: queued as 1\nC: QUIT\n"}),
         fmt::format("up\n1: {}1: {}ended well\n", leaving, delivered), lmtp);
    play({mail(1, {"b@y", "c@y"})},
         script({lhlo, plain,
                 "C: MAIL FROM:<a@x>\nS: 250 Ok\nC: RCPT TO:<b@y>\nS: 250 Ok\nC: RCPT TO:<c@y>\nS: 250 Ok\nC: DATA\n"
                 "S: 354 Go\n",
                 body, "S: 421 4.3.2 Bye\nS: (closes)\n"}),
         fmt::format("up\nended: {1}interrupted 1: {0}1: {1}", leaving, doubt), lmtp);
}

TEST_CASE("LMTP has no HELO, no content for nobody, and no BDAT") {
    play({mail(1)}, script({lhlo, "S: 500 5.5.1 What?\nC: QUIT\n"}),
         "ended: permanent 4 5.5.1 [host mx.test[192.0.2.1] refused to talk to me: 500 5.5.1 What?]\n", lmtp);
    play({mail(1)}, script({lhlo, offers, group, "S: 250 Ok\nS: 450 Later\nS: 503 5.5.1 Nobody\n"}),
         "up\n1: temporary 8 4.0.0 [host mx.test[192.0.2.1] said: 450 Later (in reply to RCPT TO command)]\n", lmtp);
    play({mail(1)}, script({lhlo, offers, group, "S: 250 Ok\nS: 450 Later\nS: 354 Go\n"}),
         "up\nended: temporary 0 4.5.0 [protocol error from mx.test[192.0.2.1] while waiting for the next "
         "message: content requested without an accepted recipient]\ninterrupted 1: temporary 8 4.0.0 [host "
         "mx.test[192.0.2.1] said: 450 Later (in reply to RCPT TO command)]\nno more pipelining\n",
         lmtp);
    auto m = mail(1);
    m.transaction.parameters.size = 18;
    m.transaction.longest_line = 10;
    play({m},
         script({lhlo, "S: 250-store.test\nS: 250-PIPELINING\nS: 250 CHUNKING\n", group, group_ok, body,
                 "S: 250 2.0.0 Ok: queued as 1\n"}),
         fmt::format("up\n1: {}", delivered), lmtp);
}

TEST_CASE("an early answer in LMTP is the first recipient's alone") {
    auto m = mail(1, {"b@y", "c@y"});
    Driver driver({m}, 1 << 20, 3, {"client.test", "mx.test[192.0.2.1]", {}, {}, {}, {}, {}, false, Protocol::lmtp});
    driver.feed("220 store.test\r\n");
    driver.feed("250-store.test\r\n250 PIPELINING\r\n");
    driver.session.feed("250 Ok\r\n250 Ok\r\n250 Ok\r\n354 Go\r\n", driver.now);
    driver.pump();
    driver.session.feed("552 5.2.3 Too large\r\n", driver.now);
    driver.pump();
    CHECK(driver.log.find("1: permanent 10 5.2.3 [host mx.test[192.0.2.1] said: 552 5.2.3 Too large") !=
          driver.log.npos);
    CHECK(driver.log.find("1: temporary 10 4.4.2 [early reply for another recipient from mx.test[192.0.2.1] while "
                          "sending message body]\n") != driver.log.npos);
}

// A transaction that only asks: it ends behind RCPT, whatever the server says, and the conversation is told
// line by line.
#include "tests/libsmtp/session/client_driver.h"

using namespace smtp;
using namespace smtp::testing;

namespace {

Mail probe(std::uint64_t id, std::vector<std::string> to = {"b@y"}) {
    Mail out = mail(id, std::move(to));
    out.transaction.probe = true;
    return out;
}

constexpr std::string_view accepted = "delivered 8 2.1.5 [250 2.1.5 Ok]\n";
std::string refused(std::string_view outcome, std::string_view status, std::string_view line) {
    return fmt::format("{} 8 {} [host mx.test[192.0.2.1] said: {} (in reply to RCPT TO command)]\n", outcome, status,
                       line);
}

} // namespace

TEST_CASE("a probe ends behind RCPT, with QUIT in DATA's place") {
    play({probe(1)},
         script({hello, offers, "C: MAIL FROM:<a@x>\nC: RCPT TO:<b@y>\n", "S: 250 2.1.0 Ok\nS: 250 2.1.5 Ok\n",
                 "C: QUIT\n"}),
         fmt::format("up\n1: {}ended well\n", accepted), {.quit = true});
    play(
        {probe(1)},
        script({hello, plain, "C: MAIL FROM:<a@x>\nS: 250 2.1.0 Ok\nC: RCPT TO:<b@y>\nS: 250 2.1.5 Ok\n", "C: QUIT\n"}),
        fmt::format("up\n1: {}ended well\n", accepted), {.quit = true});
}

TEST_CASE("a probe's recipients are each told what was said of them") {
    const auto no = refused("permanent", "5.1.1", "550 5.1.1 Who?");
    const auto later = refused("temporary", "4.2.0", "450 4.2.0 Greylisted");
    play({probe(1, {"b@y", "c@y", "d@y"})},
         script({hello, offers, "C: MAIL FROM:<a@x>\nC: RCPT TO:<b@y>\nC: RCPT TO:<c@y>\nC: RCPT TO:<d@y>\n",
                 "S: 250 2.1.0 Ok\nS: 250 2.1.5 Ok\nS: 550 5.1.1 Who?\nS: 450 4.2.0 Greylisted\n", "C: QUIT\n"}),
         fmt::format("up\n1: {}1: {}1: {}ended well\n", accepted, no, later), {.quit = true});
    play({probe(1)}, script({hello, plain, "C: MAIL FROM:<a@x>\nS: 550 5.7.1 Not you\n", "C: QUIT\n"}),
         "up\n1: permanent 7 5.7.1 [host mx.test[192.0.2.1] said: 550 5.7.1 Not you (in reply to MAIL FROM "
         "command)]\nended well\n",
         {.quit = true});
    play({probe(1)},
         script({hello, offers, "C: MAIL FROM:<a@x>\nC: RCPT TO:<b@y>\n",
                 "S: 550 5.7.1 Not you\nS: 503 5.5.1 No sender\n", "C: QUIT\n"}),
         "up\n1: permanent 7 5.7.1 [host mx.test[192.0.2.1] said: 550 5.7.1 Not you (in reply to MAIL FROM "
         "command)]\nended well\n",
         {.quit = true});
}

TEST_CASE("those who were too many are asked about in a further round, behind RSET") {
    play({probe(1, {"b@y", "c@y"})},
         script({hello, offers, "C: MAIL FROM:<a@x>\nC: RCPT TO:<b@y>\nC: RCPT TO:<c@y>\n",
                 "S: 250 2.1.0 Ok\nS: 250 2.1.5 Ok\nS: 452 4.5.3 Too many\n",
                 "C: RSET\nC: MAIL FROM:<a@x>\nC: RCPT TO:<c@y>\n",
                 "S: 250 2.0.0 Ok\nS: 250 2.1.0 Ok\nS: 250 2.1.5 Ok\n", "C: QUIT\n"}),
         fmt::format("up\n1: {0}1: {0}ended well\n", accepted), {.quit = true});
}

TEST_CASE("mail that follows a probe begins with RSET") {
    play({probe(1), mail(2)},
         script({hello, plain, "C: MAIL FROM:<a@x>\nS: 250 2.1.0 Ok\nC: RCPT TO:<b@y>\nS: 250 2.1.5 Ok\n",
                 "C: RSET\nS: 250 2.0.0 Ok\nC: MAIL FROM:<a@x>\nS: 250 Ok\nC: RCPT TO:<b@y>\nS: 250 Ok\n",
                 "C: DATA\nS: 354 Go\n", body, "S: 250 2.0.0 Ok: queued as 1\n"}),
         fmt::format("up\n1: {}2: {}", accepted, delivered));
}

TEST_CASE("a connection lost while a probe is asked about") {
    play({probe(1)}, script({hello, plain, "C: MAIL FROM:<a@x>\nS: 250 2.1.0 Ok\nC: RCPT TO:<b@y>\nS: (closes)\n"}),
         "up\nended: temporary 8 4.4.2 [lost connection with mx.test[192.0.2.1] while sending RCPT TO]\n"
         "interrupted 1: temporary 8 4.4.2 [lost connection with mx.test[192.0.2.1] while sending RCPT TO]\n");
}

TEST_CASE("a narrated conversation is told as it goes, each side's lines where they belong") {
    ClientSession session({.name = "client.test", .peer = "mx.test[192.0.2.1]", .report_dialogue = true}, Monotonic{});
    std::string told;
    const auto turn = [&](std::string_view bytes) {
        session.feed(bytes, Monotonic{});
        while (auto event = session.next()) {
            if (auto* sent = std::get_if<client_event::CommandSent>(&*event))
                told += fmt::format("C {} {}\n", static_cast<int>(sent->stage), sent->text);
            if (auto* said = std::get_if<client_event::ReplyReceived>(&*event))
                told += fmt::format("S {} {} {}\n", static_cast<int>(said->stage), said->recipient, said->reply.line());
            if (std::holds_alternative<client_event::Ready>(*event))
                session.deliver(probe(1, {"b@y", "c@y"}).transaction, Monotonic{});
        }
    };
    turn("220 mx.test\r\n250-mx.test\r\n250 PIPELINING\r\n");
    turn("250 Ok\r\n250 Ok\r\n550 5.1.1 No\r\n");
    CHECK(told == "S 3 0 220 mx.test\nC 4 EHLO client.test\nS 4 0 250 mx.test PIPELINING\n"
                  "C 7 MAIL FROM:<a@x>\nC 8 RCPT TO:<b@y>\nC 8 RCPT TO:<c@y>\n"
                  "S 7 0 250 Ok\nS 8 0 250 Ok\nS 8 1 550 5.1.1 No\n");
}

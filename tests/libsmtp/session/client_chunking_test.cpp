// BDAT (RFC 3030) where it spares a round trip, and the server's LIMITS (RFC 9422).
#include "tests/libsmtp/session/client_driver.h"

using namespace smtp;
using namespace smtp::testing;

namespace {

constexpr std::string_view chunking = "S: 250-mx.test\nS: 250-PIPELINING\nS: 250 CHUNKING\n";
constexpr std::string_view flight =
    "C: MAIL FROM:<a@x>\nC: RCPT TO:<b@y>\nC: BDAT 18 LAST\nC: Subject: x\nC: \nC: hi\n";
const Setup whole = {.chunks = {1 << 20}};

Mail small(std::uint64_t id, std::vector<std::string> to = {"b@y"}) {
    auto out = mail(id, std::move(to));
    out.transaction.parameters.size = out.content.size();
    out.transaction.longest_line = 10;
    return out;
}

std::string said(std::string_view outcome, Stage stage, std::string_view status, std::string_view line) {
    return fmt::format("{} {} {} [host mx.test[192.0.2.1] said: {} (in reply to {})]\n", outcome,
                       static_cast<int>(stage), status, line, command_of(stage));
}

} // namespace

TEST_CASE("the first message goes in one flight with its commands, the next by DATA") {
    play({small(1), small(2)},
         script({hello, chunking, flight, "S: 250 Ok\nS: 250 Ok\nS: 250 2.0.0 Ok: queued as 1\n", group, group_ok, body,
                 "S: 250 2.0.0 Ok: queued as 1\nC: QUIT\n"}),
         fmt::format("up\n1: {0}2: {0}ended well\n", delivered), {.quit = true, .chunks = {1 << 20}});
}

TEST_CASE("dots are left alone, and the last line is made whole") {
    auto m = small(1);
    m.content = ".\r\n..a\r\nhi";
    play({m},
         script({hello, chunking, "C: MAIL FROM:<a@x>\nC: RCPT TO:<b@y>\nC: BDAT 12 LAST\nC: .\nC: ..a\nC: hi\n",
                 "S: 250 Ok\nS: 250 Ok\nS: 250 2.0.0 Ok: queued as 1\n"}),
         fmt::format("up\n1: {}", delivered), whole);
    // In pieces, each is a chunk.
    play({m},
         script({hello, chunking,
                 "C: MAIL FROM:<a@x>\nC: RCPT TO:<b@y>\nC: BDAT 8\nC: .\nC: ..a\nC: BDAT 4 LAST\nC: hi\n",
                 "S: 250 Ok\nS: 250 Ok\nS: 250 8 bytes\nS: 250 2.0.0 Ok: queued as 1\n"}),
         fmt::format("up\n1: {}", delivered), {.chunks = {8}});
}

TEST_CASE("a flight for nobody: its refusal means nothing, and RSET comes before the next") {
    const auto no = said("permanent", Stage::rcpt, "5.1.1", "550 5.1.1 Who?");
    for (std::string_view reply :
         {"S: 503 5.5.1 Nobody\nC: RSET\nC: MAIL FROM:<a@x>\nC: RCPT TO:<b@y>\nC: DATA\nS: 250 Ok\n",
          "S: 250 Fine\nC: MAIL FROM:<a@x>\nC: RCPT TO:<b@y>\nC: DATA\n"})
        play({small(1), small(2)},
             script({hello, chunking, flight, "S: 250 Ok\nS: 550 5.1.1 Who?\n", reply, group_ok, body,
                     "S: 250 2.0.0 Ok: queued as 1\n"}),
             fmt::format("up\n1: {}2: {}", no, delivered), whole);
    // No sender, no transaction, no RSET.
    play({small(1), small(2)},
         script({hello, chunking, flight, "S: 550 5.7.1 No\nS: 503 5.5.1 MAIL first\nS: 503 5.5.1 MAIL first\n", group,
                 group_ok, body, "S: 250 2.0.0 Ok: queued as 1\n"}),
         fmt::format("up\n1: {}2: {}", said("permanent", Stage::mail, "5.7.1", "550 5.7.1 No"), delivered), whole);
}

TEST_CASE("some are accepted: the message is theirs, and who was too many comes next") {
    play({small(1, {"b@y", "c@y", "d@y"})},
         script({hello, chunking,
                 "C: MAIL FROM:<a@x>\nC: RCPT TO:<b@y>\nC: RCPT TO:<c@y>\nC: RCPT TO:<d@y>\nC: BDAT 18 LAST\n"
                 "C: Subject: x\nC: \nC: hi\n"
                 "S: 250 Ok\nS: 250 Ok\nS: 550 5.1.1 Who?\nS: 452 4.5.3 Too many\nS: 250 2.0.0 Ok: queued as 1\n"
                 "C: MAIL FROM:<a@x>\nC: RCPT TO:<d@y>\nC: DATA\n",
                 group_ok, body, "S: 250 2.0.0 Ok: queued as 1\n"}),
         fmt::format("up\n1: {0}1: {1}1: {0}", delivered, said("permanent", Stage::rcpt, "5.1.1", "550 5.1.1 Who?")),
         whole);
}

TEST_CASE("a message refused behind BDAT is refused; a BDAT that is not understood is not used again") {
    play({small(1), small(2)},
         script({hello, chunking, flight, "S: 250 Ok\nS: 250 Ok\nS: 554 5.6.0 Spam\nC: RSET\n", group, "S: 250 Ok\n",
                 group_ok, body, "S: 250 2.0.0 Ok: queued as 1\n"}),
         fmt::format("up\n1: {}2: {}", said("permanent", Stage::final_dot, "5.6.0", "554 5.6.0 Spam"), delivered),
         whole);
    for (std::string_view reply : {"500 5.5.2 Error", "502 5.5.1 What?", "503 5.5.1 What?"}) {
        const auto verdict = fmt::format("temporary 11 4{} [host mx.test[192.0.2.1] offers CHUNKING, but answered to "
                                         "BDAT: {}]\n",
                                         reply.substr(5, 4), reply);
        play({small(1)}, script({hello, chunking, flight, "S: 250 Ok\nS: 250 Ok\nS: ", reply, "\n"}),
             fmt::format("up\nended: {0}interrupted 1: {0}no more chunking\n", verdict), whole);
    }
}

TEST_CASE("lost behind a flight: all of the message was sent, and it is in doubt whatever was answered") {
    const std::string_view doubt = "temporary 11 4.4.2 [lost connection with mx.test[192.0.2.1] while sending end of "
                                   "data -- message may be sent more than once] in doubt\n";
    for (std::string_view replies : {"", "S: 250 Ok\n", "S: 250 Ok\nS: 250 Ok\n"})
        play({small(1), small(2)}, script({hello, chunking, flight, replies, "S: (closes)\n"}),
             fmt::format("up\nended: {0}interrupted 1: {0}no more chunking\n", doubt), whole);
    // Nobody can have got it who was refused.
    play({small(1)}, script({hello, chunking, flight, "S: 550 5.7.1 No\nS: (closes)\n"}),
         fmt::format("up\nended: temporary 8 4.4.2 [lost connection with mx.test[192.0.2.1] while sending RCPT TO]\n"
                     "interrupted 1: {}no more chunking\n",
                     said("permanent", Stage::mail, "5.7.1", "550 5.7.1 No")),
         whole);
}

TEST_CASE("a server that leaves in the middle of a chunk is not sent what could complete it") {
    Driver driver({small(1)}, 1 << 20, 1 << 20, {"client.test", "mx.test[192.0.2.1]"});
    driver.feed("220 mx.test\r\n");
    driver.session.feed("250-mx.test\r\n250-PIPELINING\r\n250 CHUNKING\r\n", driver.now);
    driver.pump(); // the transaction is handed over
    driver.pump(); // and its content
    std::vector<std::string_view> views;
    driver.session.output(views);
    std::size_t size = 0;
    for (auto view : views) size += view.size();
    driver.session.wrote(size - 6, driver.now);
    driver.session.feed("421 4.3.2 Bye\r\n", driver.now);
    CHECK(driver.session.over());
    CHECK(!driver.session.has_output());
}

TEST_CASE("DATA where BDAT gains nothing") {
    auto large = small(1), wide = small(1), unknown = small(1);
    large.transaction.parameters.size = ClientSession::chunk_limit + 1;
    wide.transaction.longest_line = OutgoingContent::line_limit + 1;
    unknown.transaction.parameters.size.reset();
    for (const auto& m : {large, wide, unknown})
        play({m}, script({hello, chunking, group, group_ok, body, "S: 250 2.0.0 Ok: queued as 1\n"}),
             fmt::format("up\n1: {}", delivered));
    play({small(1)}, script({hello, chunking, group, group_ok, body, "S: 250 2.0.0 Ok: queued as 1\n"}),
         fmt::format("up\n1: {}", delivered), {.chunking = ClientSession::Chunking::never});
    const std::string_view step_by_step =
        "C: MAIL FROM:<a@x>\nS: 250 Ok\nC: RCPT TO:<b@y>\nS: 250 Ok\nC: DATA\nS: 354 Go\n";
    play({small(1)},
         script({hello, "S: 250-mx.test\nS: 250 CHUNKING\n", step_by_step, body, "S: 250 2.0.0 Ok: queued as 1\n"}),
         fmt::format("up\n1: {}", delivered));
}

TEST_CASE("LIMITS: as many recipients and domains in a transaction as the server says") {
    play({mail(1, {"b@y", "c@y", "d@y"})},
         script({hello, "S: 250-mx.test\nS: 250-PIPELINING\nS: 250 LIMITS RCPTMAX=2 X=1 RCPTDOMAINMAX=0 MAILMAX=\n",
                 "C: MAIL FROM:<a@x>\nC: RCPT TO:<b@y>\nC: RCPT TO:<c@y>\nC: DATA\nS: 250 Ok\n", group_ok, body,
                 "S: 250 2.0.0 Ok: queued as 1\nC: MAIL FROM:<a@x>\nC: RCPT TO:<d@y>\nC: DATA\n", group_ok, body,
                 "S: 250 2.0.0 Ok: queued as 1\n"}),
         fmt::format("up\n1: {0}1: {0}1: {0}", delivered));
    play({mail(1, {"b@y", "c@z", "d@Y"})},
         script({hello, "S: 250-mx.test\nS: 250-PIPELINING\nS: 250 LIMITS rcptdomainmax=1\n",
                 "C: MAIL FROM:<a@x>\nC: RCPT TO:<b@y>\nC: RCPT TO:<d@Y>\nC: DATA\nS: 250 Ok\n", group_ok, body,
                 "S: 250 2.0.0 Ok: queued as 1\nC: MAIL FROM:<a@x>\nC: RCPT TO:<c@z>\nC: DATA\n", group_ok, body,
                 "S: 250 2.0.0 Ok: queued as 1\n"}),
         fmt::format("up\n1: {0}1: {0}1: {0}", delivered));
}

TEST_CASE("LIMITS: after so many transactions it is over, and what is left goes with another") {
    const std::string_view twice = "S: 250-mx.test\nS: 250-PIPELINING\nS: 250 LIMITS MAILMAX=2\n";
    play({mail(1), mail(2), mail(3)},
         script({hello, twice, group, group_ok, body, group, "S: 250 2.0.0 Ok: queued as 1\n", group_ok, body,
                 "S: 250 2.0.0 Ok: queued as 1\nC: QUIT\n"}),
         fmt::format("up\n1: {0}2: {0}ended well\n", delivered));
    // The rest of a message's recipients is not tried, and the message behind it neither.
    play({mail(1, {"b@y", "c@y", "d@y"}), mail(2)},
         script({hello, "S: 250-mx.test\nS: 250-PIPELINING\nS: 250 LIMITS MAILMAX=2 RCPTMAX=1\n", group, group_ok, body,
                 "S: 250 2.0.0 Ok: queued as 1\nC: MAIL FROM:<a@x>\nC: RCPT TO:<c@y>\nC: DATA\n", group_ok, body,
                 "S: 250 2.0.0 Ok: queued as 1\nC: QUIT\n"}),
         fmt::format(
             "up\n1: {0}1: {0}1: temporary 7 4.5.3 [host mx.test[192.0.2.1] accepts 2 transactions per session; the "
             "rest follows in the next]\nended well\n",
             delivered));
}

TEST_CASE("recipients whose round had not come are not in doubt") {
    play({mail(1, {"b@y", "c@y"})},
         script({hello, "S: 250-mx.test\nS: 250-PIPELINING\nS: 250 LIMITS RCPTMAX=1\n", group, group_ok, body,
                 "S: (closes)\n"}),
         "up\nended: temporary 11 4.4.2 [lost connection with mx.test[192.0.2.1] while sending end of data -- message "
         "may be sent more than once] in doubt\n"
         "interrupted 1: temporary 11 4.4.2 [lost connection with mx.test[192.0.2.1] while sending end of data -- "
         "message may be sent more than once] in doubt\n"
         "1: temporary 11 4.4.2 [lost connection with mx.test[192.0.2.1] while sending end of data -- message may be "
         "sent more than once]\n");
}

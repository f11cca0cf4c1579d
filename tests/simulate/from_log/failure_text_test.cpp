// Parsing the failure texts of Postfix's and Postrider's SMTP clients.
#include "daemons/simulate/from_log/failure_text.h"
#include <doctest/doctest.h>

using namespace postrider::simulate;
using namespace postrider::simulate::from_log;
using smtp::Stage;

TEST_CASE("replies, silence, refusals and lost connections, each at its stage") {
    struct Case {
        const char* text;
        FaultKind kind;
        Stage at;
        int code = 0;
    };
    const Case all[] = {
        {"connect to mx.a[192.0.2.1]:25: Connection refused", FaultKind::refuses, Stage::connect},
        {"connect to mx.a[192.0.2.1]:25: No route to host", FaultKind::refuses, Stage::connect},
        {"connect to mx.a[192.0.2.1]:25: Connection timed out", FaultKind::silent, Stage::connect},
        {"host mx.a[192.0.2.1] refused to talk to me: 421 4.7.0 too many connections", FaultKind::replies,
         Stage::banner, 421},
        {"host mx.a[192.0.2.1] said: 450 4.2.0 busy (in reply to RCPT TO command)", FaultKind::replies, Stage::rcpt,
         450},
        {"host mx.a[192.0.2.1] said: 552-5.3.4 too big 552 5.3.4 really (in reply to MAIL FROM command)",
         FaultKind::replies, Stage::mail, 552},
        {"host mx.a[192.0.2.1] said: 554 5.7.1 spam (in reply to end of DATA command)", FaultKind::replies,
         Stage::final_dot, 554},
        {"host mx.a[192.0.2.1] said: 451 4.3.0 later (in reply to DATA command)", FaultKind::replies, Stage::data, 451},
        {"lost connection with mx.a[192.0.2.1] while receiving the initial server greeting", FaultKind::drops,
         Stage::banner},
        {"lost connection with mx.a[192.0.2.1] while performing the EHLO handshake", FaultKind::drops, Stage::ehlo},
        {"lost connection with mx.a[192.0.2.1] while sending end of data -- message may be sent more than once",
         FaultKind::drops, Stage::final_dot},
        {"conversation with mx.a[192.0.2.1] timed out while sending RCPT TO", FaultKind::silent, Stage::rcpt},
        {"Host or domain name not found. Name service error for name=a type=MX: Host not found, try again",
         FaultKind::no_dns, Stage::connect},
        {"Host or domain name not found. Name service error for name=a type=A: Host not found", FaultKind::no_name,
         Stage::connect},
    };
    for (const auto& each : all) {
        CAPTURE(each.text);
        const auto found = parse_failure(each.text);
        REQUIRE(found);
        CHECK(found->kind == each.kind);
        CHECK(found->at == each.at);
        CHECK(found->reply.code == each.code);
        CHECK(found->host.has_value() == !is_dns_fault(each.kind));
    }
}

TEST_CASE("greylisting and unknown users are distinguished from other replies") {
    CHECK(parse_failure("host a[b] said: 451 4.7.1 Greylisting in action (in reply to RCPT TO command)")->greylisting);
    CHECK(parse_failure(
              "host a[b] said: 450 4.2.0 <x>: Recipient address rejected: Greylisted (in reply to RCPT TO command)")
              ->greylisting);
    CHECK_FALSE(parse_failure("host a[b] said: 450 4.2.0 mailbox busy (in reply to RCPT TO command)")->greylisting);
    CHECK(parse_failure("host a[b] said: 550 5.1.1 no such user (in reply to RCPT TO command)")->unknown_user);
    CHECK_FALSE(parse_failure("host a[b] said: 550 5.7.1 spam (in reply to RCPT TO command)")->unknown_user);
    CHECK_FALSE(
        parse_failure("host a[b] said: 550 5.1.1 no such user (in reply to end of DATA command)")->unknown_user);
}

TEST_CASE("replies are kept so that a scenario can hold them") {
    const auto found = parse_failure("host a[b] said: 450 4.2.0 \x01" + std::string(600, 'x') +
                                     "\xc3\xa4 (in reply to RCPT TO command)");
    REQUIRE(found);
    CHECK(found->reply.line().size() <= 200);
    CHECK(found->reply.line().find('\x01') == std::string::npos);
    CHECK(Reply::parse(found->reply.line()));
}

TEST_CASE("texts that report no failure of a host") {
    CHECK(is_suspended("delivery temporarily suspended: connect to mx.a[192.0.2.1]:25: Connection refused"));
    for (const char* text :
         {"", "host ", "host a[b] said: ", "host a[b] said: 250 ok", "connect to ", "lost connection with a[b]",
          "250 2.0.0 Ok", "mail for a loops back to myself", "unknown mail transport error"})
        CHECK_FALSE(parse_failure(text));
}

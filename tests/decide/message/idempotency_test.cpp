#include "daemons/decide/message/idempotency.h"
#include <doctest/doctest.h>

using namespace decide::idempotency;

namespace {

constexpr std::string_view names[] = {field_name};

// What key_in says of a header, "!" before what is wrong.
std::string asked(std::string_view header) {
    smtp::ControlFields fields(names);
    std::string rest;
    fields.feed(header, rest);
    fields.finish(rest);
    const auto key = key_in(fields, 0);
    return key ? *key : "!" + key.error();
}

} // namespace

TEST_CASE("what a key may look like") {
    CHECK(asked("Subject: x\r\n\r\nIdempotency-Key: body\r\n") == "");
    CHECK(asked("idempotency-key: order-17/retry\r\n\r\n") == "order-17/retry");
    CHECK(asked("Idempotency-Key:\r\n folded-before\r\n\r\n") == "folded-before");
    CHECK(asked("Idempotency-Key: " + std::string(longest, 'k') + "\r\n\r\n") == std::string(longest, 'k'));
    CHECK(asked("Idempotency-Key: ends-here") == "ends-here");
    CHECK(asked("Idempotency-Key: " + std::string(longest + 1, 'k') + "\r\n\r\n")
              .starts_with("!Idempotency-Key: the key is longer"));
    CHECK(asked("Idempotency-Key: " + std::string(5000, 'k') + "\r\n\r\n")
              .starts_with("!Idempotency-Key: the key is longer"));
    for (const auto* value : {"", "  ", "\r\n \r\n\t"})
        CHECK(asked("Idempotency-Key:" + std::string(value) + "\r\n\r\n") == "!Idempotency-Key: the key is empty");
    for (const auto* value : {"two words", "two\r\n folded", "k\xc3\xa4se", "tab\there", "nu\x01ll"})
        CHECK(asked("Idempotency-Key: " + std::string(value) + "\r\n\r\n").find("one word of printable ASCII") !=
              std::string::npos);
    CHECK(asked("Idempotency-Key: a\r\nSubject: x\r\nIdempotency-Key: a\r\n\r\n") ==
          "!Idempotency-Key: there are 2 such fields, expected one");
}

TEST_CASE("what counts beside the content") {
    spool::Envelope one;
    one.reverse_path = "ann@example.org";
    one.recipients = {{.address = "b@example.org"}, {.address = "c@example.org", .notify = spool::Notify::never}};
    const auto same = [&](auto change, std::string_view schedule = "") {
        auto other = one;
        change(other);
        return request_of(one, "") == request_of(other, schedule);
    };
    CHECK(same([](auto& e) { std::swap(e.recipients[0], e.recipients[1]); }));
    CHECK(same([](auto& e) { e.recipients.push_back(e.recipients[0]); }));
    CHECK(same([](auto& e) { e.envid = "attempt-2", e.arrival += std::chrono::hours(1), e.helo = "other"; }));
    CHECK(same([](auto& e) { e.not_before = e.arrival + std::chrono::hours(1); })); // the schedule says it
    CHECK_FALSE(same([](auto&) {}, "for 3600"));
    CHECK_FALSE(same([](auto& e) { e.reverse_path = ""; }));
    CHECK_FALSE(same([](auto& e) { e.recipients.pop_back(); }));
    CHECK_FALSE(same([](auto& e) { e.recipients[0].address = "B@example.org"; }));
    CHECK_FALSE(same([](auto& e) { e.recipients[0].notify = spool::Notify::never; }));
    CHECK_FALSE(same([](auto& e) { e.recipients[0].orcpt = "rfc822;x@example.org"; }));
    CHECK_FALSE(same([](auto& e) { e.ret = smtp::Ret::full; }));
    CHECK_FALSE(same([](auto& e) { e.priority = 3; }));
    CHECK_FALSE(same([](auto& e) { e.require_tls = true; }));
}

TEST_CASE("a claim is read as it was written, and nothing else is one") {
    const Claim claim{State::reserved, spool::QueueId{0x123410}, "digest", "10:life", "sasl:ann", "key"};
    CHECK(decode(encode(claim)) == claim);
    CHECK(decode(encode(claim.accepted())) == claim.accepted());
    CHECK(claim.accepted().owner.empty());
    CHECK_FALSE(decode(""));
    CHECK_FALSE(decode("yes"));
    const auto bytes = encode(claim);
    for (std::size_t n = 0; n + 1 < bytes.size(); ++n)
        if (const auto cut = decode(std::string_view(bytes).substr(0, n))) CHECK(*cut != claim);
}

TEST_CASE("what a further submission is") {
    Claim there{State::accepted, spool::QueueId{0x123410}, "same", "", "sasl:ann", "key"};
    for (const auto owner : {Owner::alive, Owner::dead})
        for (const auto trace : {Trace::nowhere, Trace::incoming, Trace::messages}) {
            CHECK(judge(there, "same", owner, trace) == Verdict::duplicate);
            CHECK(judge(there, "other", owner, trace) == Verdict::other_content);
        }
    there.state = State::reserved;
    for (const auto* digest : {"same", "other"}) {
        for (const auto trace : {Trace::nowhere, Trace::incoming, Trace::messages})
            CHECK(judge(there, digest, Owner::alive, trace) == Verdict::busy);
        CHECK(judge(there, digest, Owner::dead, Trace::incoming) == Verdict::busy);
        CHECK(judge(there, digest, Owner::dead, Trace::nowhere) == Verdict::abandoned);
    }
    CHECK(judge(there, "same", Owner::dead, Trace::messages) == Verdict::duplicate);
    CHECK(judge(there, "other", Owner::dead, Trace::messages) == Verdict::other_content);
}

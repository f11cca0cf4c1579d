// What is sent again, to whom, and what of the old message is left behind.
#include "libspool/message/resend.h"
#include "libspool/message/writers.h"
#include <doctest/doctest.h>

using namespace spool;

namespace {

constexpr smtp::WallTime noon{std::chrono::seconds(1'750'000'000)};
constexpr smtp::WallTime later = noon + std::chrono::hours(30);
const QueueId old{0x0C5D183A07F310};

MessageState finished_message() {
    Envelope envelope;
    envelope.reverse_path = "shop@example.org";
    envelope.recipients = {{.address = "reached@x.example"},
                           {.address = "refused@x.example", .orcpt = "rfc822;a@b.example", .notify = Notify::failure},
                           {.address = "list@example.net"},
                           {.address = "listed@x.example"}};
    envelope.arrival = noon;
    envelope.origin = Origin::client;
    envelope.submitter = "sasl:shop";
    envelope.meta = {{"order", "42"}};
    envelope.envid = "e1";
    envelope.not_before = noon;
    envelope.deliver_by = noon + std::chrono::hours(1);
    envelope.expiry = noon + std::chrono::hours(2);
    envelope.lifetime = 7200;
    envelope.lane = "high";
    envelope.retry_policy = "fast";
    envelope.idempotency_key = "once";
    envelope.idempotency_digest = std::string(32, 'd');
    envelope.message_id = "<1@example.org>";
    envelope.edits = {16, {{FieldEdit::What::insert, 0, "X-Filter: seen\r\n"}}};
    MessageState state(envelope);
    Expanded members;
    members.replaced = {2};
    members.added = {{.origin = 2,
                      .fate = Fate::local,
                      .address = "dave@example.net",
                      .user = "dave",
                      .reverse_path = "owner@example.net"}};
    REQUIRE(state.apply(members));
    REQUIRE(state.apply(StatusChanged{{0}, Status::delivered, noon, {}, "x"}));
    REQUIRE(state.apply(StatusChanged{{1}, Status::failed, noon, {.code = 550, .text = "no such user"}, "x"}));
    REQUIRE(state.apply(StatusChanged{{4}, Status::expired, noon, {}, "x"}));
    REQUIRE(state.apply(StatusChanged{{3}, Status::failed, noon, {.text = "listed", .suppressed = true}, "x"}));
    REQUIRE(state.apply(Held{true, noon, "root", "to be looked at"}));
    REQUIRE(state.apply(Rerouted{"[relay.example.net]:2525", noon, "root", ""}));
    return state;
}

} // namespace

TEST_CASE("those that it failed or expired for, under their present addresses; not those that have it or are listed") {
    const auto again = resend_of(finished_message(), old, later);
    REQUIRE(again.envelope.recipients.size() == 2);
    CHECK(again.envelope.recipients[0] ==
          EnvelopeRecipient{.address = "refused@x.example", .orcpt = "rfc822;a@b.example", .notify = Notify::failure});
    CHECK(again.envelope.recipients[1] == EnvelopeRecipient{.address = "dave@example.net",
                                                            .original = "list@example.net",
                                                            .fate = Fate::local,
                                                            .reverse_path = "owner@example.net",
                                                            .user = "dave"});
    CHECK(again.suppressed == std::vector<std::string>{"listed@x.example"});
    CHECK(violates_writer_rights(again.envelope, submission_slot).empty());
}

TEST_CASE("a new message with a parent: sender, submitter and meta stay, time and idempotency are its own") {
    for (const auto& envelope : {resend_of(finished_message(), old, later).envelope,
                                 resend_to(finished_message(), old, later, "a@b.example")}) {
        CHECK(envelope.parent == old);
        CHECK(envelope.origin == Origin::copy);
        CHECK(envelope.reverse_path == "shop@example.org");
        CHECK(envelope.submitter == "sasl:shop");
        CHECK(envelope.meta == finished_message().envelope.meta);
        CHECK(envelope.message_id == "<1@example.org>");
        CHECK(envelope.envid == "e1");
        CHECK(envelope.lane == "high");
        CHECK(envelope.retry_policy == "fast");
        CHECK(envelope.arrival == later);
        CHECK_FALSE(envelope.not_before);
        CHECK_FALSE(envelope.deliver_by);
        CHECK_FALSE(envelope.expiry);
        CHECK(envelope.lifetime == 0);
        CHECK(envelope.rerouted_to.empty());
        CHECK(envelope.verdict == Verdict::accept);
        CHECK(envelope.verdict_reason.empty());
        CHECK(envelope.idempotency_key.empty());
        CHECK(envelope.idempotency_digest.empty());
        CHECK(envelope.edits.empty()); // or they would be made twice
    }
}

TEST_CASE("to another address: only to that one") {
    const auto envelope = resend_to(finished_message(), old, later, "other@y.example");
    REQUIRE(envelope.recipients.size() == 1);
    CHECK(envelope.recipients[0] == EnvelopeRecipient{.address = "other@y.example"});
}

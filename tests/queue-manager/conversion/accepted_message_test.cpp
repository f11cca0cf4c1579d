#include "daemons/decide/queue/ladder.h"
#include "daemons/queue-manager/conversion/accepted_message.h"
#include "daemons/queue-manager/conversion/retry_values.h"
#include <doctest/doctest.h>

using namespace queue_manager;

static spool::MessageState message() {
    spool::Envelope envelope;
    envelope.reverse_path = "ann@example.org";
    envelope.submitter = "uid:1000";
    envelope.arrival = smtp::WallTime(smtp::Duration(1'000'000));
    envelope.recipients = {{.address = "b@example.net"}, {.address = "c@example.net"}};
    return spool::MessageState(std::move(envelope));
}

TEST_CASE("a fresh message is told with all its recipients open") {
    auto state = message();
    AcceptedMessage accepted_message({0x0A1B2C3D4E5F10}, spool::Location::incoming, 4096, state);
    CHECK_FALSE(accepted_message.finished());
    CHECK(accepted_message.event().recipients == 2);
    CHECK(accepted_message.event().open.empty());
    CHECK(accepted_message.event().restored.empty());
    CHECK(accepted_message.event().submitter == "uid:1000");
    CHECK(accepted_message.event().sender == decide::queue::Sender::ordinary);
}

TEST_CASE("after a restart only the unfinished recipients are open, with their failures and next attempt") {
    auto state = message();
    const smtp::WallTime next(smtp::Duration(5'000'000));
    REQUIRE(state.apply(spool::Attempt{.recipients = {0}, .outcome = spool::Outcome::delivered}));
    REQUIRE(state.apply(spool::Attempt{.recipients = {1},
                                       .reply = {.code = 450, .status = "4.2.0", .text = "later"},
                                       .next_attempt = next,
                                       .failures = 2}));
    AcceptedMessage accepted_message({0x0A1B2C3D4E5F10}, spool::Location::messages, 4096, state);
    REQUIRE(accepted_message.event().open.size() == 1);
    CHECK(accepted_message.event().open[0] == 1);
    REQUIRE(accepted_message.event().restored.size() == 1);
    CHECK(accepted_message.event().restored[0].failures == 2);
    CHECK(accepted_message.event().restored[0].next_attempt == next);
}

TEST_CASE("a message all of whose recipients are accounted for is a leftover") {
    auto state = message();
    REQUIRE(state.apply(spool::Attempt{.recipients = {0, 1}, .outcome = spool::Outcome::delivered}));
    CHECK(AcceptedMessage({0x0A1B2C3D4E5F10}, spool::Location::messages, 1, state).finished());
}

TEST_CASE("a failed recipient whose report is not made yet is still owed") {
    auto state = message();
    REQUIRE(state.apply(spool::Attempt{.recipients = {0, 1}, .outcome = spool::Outcome::failed}));
    CHECK_FALSE(AcceptedMessage({0x0A1B2C3D4E5F10}, spool::Location::messages, 1, state).finished());
    REQUIRE(state.apply(spool::NdrIssued{.recipients = {0, 1}}));
    CHECK(AcceptedMessage({0x0A1B2C3D4E5F10}, spool::Location::messages, 1, state).finished());
}

TEST_CASE("who was reported without a word of what had come of them has failed") {
    auto state = message(); // as a file may say that was written before such failures were recorded
    REQUIRE(state.apply(spool::NdrIssued{.recipients = {0, 1}}));
    CHECK(state.recipients[0].status == spool::Status::failed);
    CHECK(AcceptedMessage({0x0A1B2C3D4E5F10}, spool::Location::messages, 1, state).finished());
}

TEST_CASE("what a filter held and an operator released stays free over a restart") {
    spool::Envelope envelope;
    envelope.recipients = {{.address = "b@example.net"}};
    envelope.verdict = spool::Verdict::hold;
    spool::MessageState state(std::move(envelope));
    CHECK(AcceptedMessage({0x0A1B2C3D4E5F10}, spool::Location::incoming, 1, state).event().held);
    REQUIRE(state.apply(spool::Held{.held = false}));
    CHECK_FALSE(AcceptedMessage({0x0A1B2C3D4E5F10}, spool::Location::messages, 1, state).event().held);
}

TEST_CASE("what senders are still to be told of success is known from the file") {
    using spool::Notify;
    spool::Envelope envelope;
    envelope.recipients.resize(3);
    for (auto& each : envelope.recipients) {
        each.address = "a@example.org";
        each.notify = Notify::success;
    }
    spool::MessageState state(envelope);
    spool::Attempt delivered{
        .recipients = {0}, .outcome = spool::Outcome::delivered, .success = spool::SuccessReport::relayed};
    REQUIRE(state.apply(delivered));
    REQUIRE(state.apply(
        spool::Expanded{{1},
                        {{.origin = 1, .fate = spool::Fate::local, .address = "b@example.org", .user = "b"},
                         {.origin = 1, .fate = spool::Fate::local, .address = "c@example.org", .user = "c"}}}));
    REQUIRE(state.apply(spool::StatusChanged{.recipients = {2, 3, 4}, .status = spool::Status::delivered}));
    const spool::QueueId id{0x0A1B2C3D4E5F10};
    {
        const AcceptedMessage accepted_message(id, spool::Location::messages, 1, state);
        CHECK_FALSE(accepted_message.finished());
        CHECK(accepted_message.event().recipients == 0);
        CHECK(accepted_message.event().open.empty());
        REQUIRE(accepted_message.event().unreported.size() == 2);
        CHECK(accepted_message.event().unreported[0].kind == decide::queue::ReportKind::relayed);
        CHECK(accepted_message.event().unreported[1].number == 1);
        CHECK(accepted_message.event().unreported[1].kind == decide::queue::ReportKind::expanded);
    }
    REQUIRE(state.apply(spool::NdrIssued{.recipients = {0, 1}}));
    CHECK(AcceptedMessage(id, spool::Location::messages, 1, state).finished());
}

TEST_CASE("what was promised at acceptance: lifetime, the policy's values, and a schedule that an operator ended") {
    using decide::queue::RetryPolicy;
    using namespace std::chrono_literals;
    const std::vector<RetryPolicy> all = {
        {.name = "a", .kind = RetryPolicy::Kind::exponential, .base = 7s, .factor = 3, .jitter = 0.25, .attempts = 4},
        {.name = "b", .kind = RetryPolicy::Kind::fixed, .interval = 1h, .jitter = 0, .attempts = 0},
        {.name = "c", .kind = RetryPolicy::Kind::steps, .waits = {1s, 24h}}};
    for (const auto& policy : all) CHECK(policy_of(policy.name, values_of(policy)) == policy);
    CHECK(policy_named("b", all) == all[1]);
    CHECK(policy_named("exchange", all)->kind == RetryPolicy::Kind::exchange);
    CHECK_FALSE(policy_named("d", all));

    auto state = message();
    state.envelope.not_before = state.envelope.arrival + 24h;
    state.lifetime = 60;
    state.retry_policy = "c";
    {
        const AcceptedMessage by_name({0x0A1B2C3D4E5F10}, spool::Location::incoming, 4096, state);
        CHECK(by_name.event().policy == nullptr);
        CHECK(by_name.event().lifetime == 60s);
        CHECK(by_name.event().not_before == state.envelope.arrival + 24h);
    }
    state.retry_values = values_of(all[2]);
    REQUIRE(state.apply(spool::Rescheduled{.free_from = state.envelope.arrival + 5s}));
    const AcceptedMessage recorded({0x0A1B2C3D4E5F10}, spool::Location::incoming, 4096, state);
    REQUIRE(recorded.event().policy != nullptr);
    CHECK(*recorded.event().policy == all[2]);
    CHECK(recorded.event().not_before == state.envelope.arrival + 5s);
}

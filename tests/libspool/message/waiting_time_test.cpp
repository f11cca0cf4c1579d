// Where a recipient's time went, as its message's file tells.
#include "libspool/message/waiting_time.h"
#include <chrono>
#include <doctest/doctest.h>

using namespace spool;
using namespace std::chrono_literals;

namespace {

constexpr smtp::WallTime start{1'000'000s};

Envelope envelope() {
    Envelope out;
    out.arrival = start;
    out.recipients.resize(1);
    out.recipients[0].address = "bob@example.net";
    return out;
}

void defer(MessageState& state, smtp::WallTime at, smtp::WallTime next, std::uint32_t pause = 0,
           std::uint32_t link = 0) {
    Attempt attempt;
    attempt.recipients = {0};
    attempt.time = at;
    attempt.next_attempt = next;
    attempt.pause = pause;
    attempt.link = link;
    REQUIRE(state.apply(attempt));
}

void hold(MessageState& state, bool on, smtp::WallTime at) {
    REQUIRE(state.apply(Held{.held = on, .time = at, .who = "root", .why = ""}));
}

Waited at(const MessageState& state, smtp::WallTime when) {
    return waited_until(state, state.recipients[0], start, when);
}

} // namespace

TEST_CASE("a message that goes at once has waited for nothing") {
    const MessageState state(envelope());
    CHECK(at(state, start + 3s) == Waited{});
}

TEST_CASE("retries: from each try to the next one that is due, whatever comes in between") {
    MessageState state(envelope());
    defer(state, start + 1s, start + 61s);
    CHECK(at(state, start + 31s) == Waited{.retry = 30}); // an operator did not wait for the rest
    CHECK(at(state, start + 500s) == Waited{.retry = 60});
    defer(state, start + 500s, start + 800s, 17, 400);
    CHECK(at(state, start + 900s) == Waited{.pause = 17, .link = 400, .retry = 360});
    auto again = MessageState(envelope());
    REQUIRE(again.apply(state.checkpoint()));
    CHECK(again == state);
    CHECK(at(again, start + 900s) == Waited{.pause = 17, .link = 400, .retry = 360});
}

TEST_CASE("a schedule, and a hold that outlasts it") {
    auto from = envelope();
    from.not_before = start + 100s;
    MessageState state(from);
    CHECK(at(state, start + 40s) == Waited{.schedule = 40});
    CHECK(at(state, start + 400s) == Waited{.schedule = 100});
    hold(state, true, start + 50s);
    CHECK(at(state, start + 150s) == Waited{.schedule = 100, .hold = 50});
    hold(state, false, start + 300s);
    CHECK(at(state, start + 400s) == Waited{.schedule = 100, .hold = 200});
    REQUIRE(state.apply(Rescheduled{.recipients = {0}, .next_attempt = {}, .failures = 0, .free_from = start + 20s}));
    CHECK(at(state, start + 400s).schedule == 20);
}

TEST_CASE("a hold while a retry waits: neither counts for the other") {
    MessageState state(envelope());
    defer(state, start, start + 100s);
    hold(state, true, start + 30s);
    CHECK(at(state, start + 50s) == Waited{.hold = 20, .retry = 30});
    hold(state, false, start + 60s);
    CHECK(at(state, start + 90s) == Waited{.hold = 30, .retry = 60});
    CHECK(at(state, start + 200s) == Waited{.hold = 30, .retry = 70});
    defer(state, start + 200s, start + 210s);
    CHECK(at(state, start + 220s) == Waited{.hold = 30, .retry = 80});
}

TEST_CASE("a filter's hold begins with the message; in files of earlier releases an operator's has no time") {
    auto from = envelope();
    from.verdict = Verdict::hold;
    MessageState state(from);
    hold(state, false, start + 25s);
    CHECK(at(state, start + 30s) == Waited{.hold = 25});
    MessageState old(envelope());
    hold(old, true, {});
    hold(old, false, start + 25s);
    CHECK(at(old, start + 30s) == Waited{});
}

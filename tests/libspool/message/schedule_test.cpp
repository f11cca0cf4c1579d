#include "libspool/message/schedule.h"
#include <doctest/doctest.h>

using namespace std::chrono_literals;
using namespace spool;

namespace {

constexpr smtp::WallTime noon{smtp::Duration(1'790'000'000'000'000)};

MessageState accepted(std::optional<smtp::WallTime> not_before, std::optional<smtp::WallTime> expiry) {
    Envelope envelope;
    envelope.arrival = noon;
    envelope.lifetime = 7200;
    envelope.not_before = not_before;
    envelope.expiry = expiry;
    envelope.recipients.push_back({.address = "ann@example.org"});
    return MessageState(envelope);
}

} // namespace

TEST_CASE("a schedule is its sender's until an operator changes it") {
    CHECK(schedule_end(accepted({}, {})) == smtp::WallTime{});
    auto state = accepted(noon + 1h, {});
    CHECK(schedule_end(state) == noon + 1h);
    REQUIRE(state.apply(Rescheduled{.recipients = {}, .next_attempt = {}, .failures = 0, .free_from = noon + 2h}));
    CHECK(schedule_end(state) == noon + 2h);
}

TEST_CASE("an expiry that was a span from the sending follows it, again and again; a point in time does not") {
    CHECK_FALSE(expiry_from(accepted(noon + 1h, {}), noon + 5h)); // the queue counts
    CHECK_FALSE(expiry_from(accepted(noon + 1h, noon + 4h), noon + 5h));
    CHECK(expiry_from(accepted({}, noon + 2h), noon + 5h) == noon + 7h);
    auto state = accepted(noon + 1h, noon + 3h);
    REQUIRE(expiry_from(state, noon + 5h) == noon + 7h);
    REQUIRE(state.apply(Rescheduled{.recipients = {}, .next_attempt = {}, .failures = 0, .free_from = noon + 5h}));
    REQUIRE(state.apply(ExpiryChanged{.expiry = noon + 7h, .policy = "", .time = noon, .who = "root", .why = ""}));
    CHECK(expiry_from(state, noon + 1h) == noon + 3h);
    REQUIRE(state.apply(ExpiryChanged{.expiry = noon + 1h, .policy = "", .time = noon, .who = "root", .why = ""}));
    CHECK_FALSE(expiry_from(state, noon + 1h));
}

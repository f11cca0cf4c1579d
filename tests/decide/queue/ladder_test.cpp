#include "daemons/decide/queue/ladder.h"
#include "tests/decide/queue/bench.h"
#include <cmath>
#include <doctest/doctest.h>

using namespace decide::queue;
using namespace decide::queue::test;

namespace {

// When the lone message of a link is tried, in minutes, if every try fails in this way.
std::vector<int> tries(Bench& b, std::size_t count, const std::function<void(const Handed&)>& fail,
                       const std::string& to = "down.example") {
    std::vector<int> minutes;
    b.send({to});
    while (minutes.size() < count) {
        const Handed h = b.take();
        minutes.push_back(static_cast<int>(std::lround(b.seconds() / 60)));
        CHECK(b.seconds() == doctest::Approx(minutes.back() * 60));
        fail(h);
        for (int n = 0; n < 100 && b.handed.empty(); ++n) b.pass(30s);
    }
    return minutes;
}

const std::vector<int> the_ladder = {0, 1, 2, 12, 22, 32, 47, 62, 77};

} // namespace

TEST_CASE("the rungs: 60 s twice, 10 min three times, then 15 min") {
    const Settings s;
    const int minutes[] = {1, 1, 10, 10, 10, 15, 15, 15};
    for (std::uint32_t n = 0; n < 8; ++n) CHECK(rung(s, n + 1) == std::chrono::minutes(minutes[n]));
    Settings other;
    other.glitch_interval = 5s;
    other.glitch_count = 2;
    other.retry_interval = 20s;
    other.retry_count = 1;
    other.retry_interval_after = 40s;
    CHECK(rung(other, 1) == 5s);
    CHECK(rung(other, 2) == 20s);
    CHECK(rung(other, 3) == 40s);
}

TEST_CASE("jitter lengthens by a tenth at most and never shortens") {
    Settings s;
    Random random(7);
    smtp::Duration least = 1h, most{};
    for (int n = 0; n < 10'000; ++n) {
        const auto wait = jittered(s.jitter, 100s, random);
        least = std::min(least, wait);
        most = std::max(most, wait);
    }
    CHECK(least >= 100s);
    CHECK(least < 101s);
    CHECK(most <= 110s);
    CHECK(most > 109s);
    s.jitter = 0;
    CHECK(jittered(s.jitter, 100s, random) == 100s);
}

TEST_CASE("services are asked again after doubling waits") {
    CHECK(doubling(1min, 1h, 1) == 1min);
    CHECK(doubling(1min, 1h, 2) == 2min);
    CHECK(doubling(1min, 1h, 6) == 32min);
    CHECK(doubling(1min, 1h, 7) == 1h);
    CHECK(doubling(1min, 1h, 1000) == 1h);
}

TEST_CASE("a link that refuses is tried at 0, 1, 2, 12, 22, 32, 47, 62 … minutes") {
    Bench b;
    b.connects = false;
    CHECK(tries(b, 9, [&](const Handed& h) { b.refuse(h.connection); }) == the_ladder);
    CHECK(b.deferrals.empty()); // the link's failures are not the message's
    CHECK(b.link("down.example").health == Health::retry);
    CHECK(b.link("down.example").failures == 9);
    CHECK(b.link_events.front().second == 4000);
}

TEST_CASE("a lone message that fails climbs the same ladder") {
    Bench b;
    CHECK(tries(b, 9, [&](const Handed& h) { b.answer(h, Outcome::deferred, FailureKind::message); }) == the_ladder);
    CHECK(b.deferrals.size() == 9);
    CHECK(b.deferrals.back().failures == 9);
}

TEST_CASE("a recipient refused by itself climbs the same ladder") {
    Bench b;
    CHECK(tries(b, 9, [&](const Handed& h) { b.answer(h, Outcome::deferred, FailureKind::recipient); }) == the_ladder);
    CHECK_FALSE(b.deferrals.back().problem); // greylisting makes no problem message
    CHECK(b.queue("down.example").health == Health::ready);
}

TEST_CASE("a link that is well says which of its domains rests, and why") {
    Bench b;
    b.send({"x.example"});
    b.reason.text = "TLS is required, but was not offered";
    b.answer(b.take(), Outcome::deferred, FailureKind::policy);
    b.pass(5s); // nobody needs the connection
    const auto link = b.link("x.example");
    CHECK(link.health == Health::ready);
    CHECK(link.idle_reason == "queue x.example is backing off: TLS is required, but was not offered");
    CHECK(link.next_attempt == b.queue("x.example").next_attempt);
}

TEST_CASE("a domain whose policy fails climbs the same ladder, its link does not") {
    Bench b;
    CHECK(tries(b, 9, [&](const Handed& h) { b.answer(h, Outcome::deferred, FailureKind::policy); }) == the_ladder);
    CHECK(b.link("down.example").health == Health::ready);
    CHECK(b.queue("down.example").health == Health::retry);
}

TEST_CASE("a mailbox that nothing can be delivered into climbs the ladder; the store and others' do not") {
    Bench b;
    CHECK(tries(
              b, 9, [&](const Handed& h) { b.answer(h, Outcome::deferred, FailureKind::message); }, "local/ann") ==
          the_ladder);
    CHECK(b.link("store:local").health == Health::ready);
    b.send({"local/bob"});
    b.answer(b.take(), Outcome::delivered);
}

TEST_CASE("local mail waits local_retry") {
    Bench b;
    b.send({"local"});
    for (int n = 0; n < 4; ++n) {
        CHECK(b.seconds() == doctest::Approx(n * 300));
        b.answer(b.take(), Outcome::deferred, FailureKind::recipient);
        b.pass(300s);
    }
    CHECK(b.queue("store:local").health == Health::ready);
}

// In which order and when addresses are tried: RFC 8305 with a hand-moved clock.
#include "daemons/smtp-client/connect/happy_eyeballs.h"
#include <doctest/doctest.h>
#include <string>
#include <variant>

using namespace smtp_client;
using namespace std::chrono_literals;
using Family = HappyEyeballs::Family;

namespace {

constexpr smtp::Monotonic start{1000h};

std::vector<common::IpAddress> addresses(const std::vector<std::string>& texts) {
    std::vector<common::IpAddress> out;
    for (const auto& text : texts) out.push_back(*common::IpAddress::parse(text));
    return out;
}

// Moves the clock from due time to due time; "0 2001:db8::1" for each attempt, in milliseconds.
struct Clock {
    HappyEyeballs race{HappyEyeballs::Delays{}};
    smtp::Monotonic now = start;

    void has_answer(Family family, const std::vector<std::string>& good, const std::vector<std::string>& bad = {}) {
        race.add_answer(family, {addresses(good), addresses(bad)}, now);
    }
    std::string next() {
        const auto due = race.due();
        if (!due) return race.exhausted() ? "no more" : "waits";
        now = std::max(now, *due);
        const auto address = race.next(now);
        REQUIRE(address);
        CHECK_FALSE(race.next(now)); // never two at a time
        return std::to_string((now - start) / 1ms) + " " + address->to_string();
    }
    std::vector<std::string> all() {
        std::vector<std::string> out;
        while (!race.exhausted()) out.push_back(next());
        return out;
    }
};

using Order = std::vector<std::string>;

} // namespace

TEST_CASE("families in turn, IPv6 first, 250 ms apart, those that failed lately last") {
    struct Case {
        std::vector<std::string> v6, v6_bad, v4, v4_bad;
        Order order;
    };
    for (const auto& [v6, v6_bad, v4, v4_bad, order] : {
             Case{{"2001:db8::1"}, {}, {"192.0.2.1"}, {}, {"0 2001:db8::1", "250 192.0.2.1"}},
             Case{{"2001:db8::1", "2001:db8::2", "2001:db8::3"},
                  {},
                  {"192.0.2.1"},
                  {},
                  {"0 2001:db8::1", "250 192.0.2.1", "500 2001:db8::2", "750 2001:db8::3"}},
             Case{{}, {}, {"192.0.2.1", "192.0.2.2"}, {}, {"0 192.0.2.1", "250 192.0.2.2"}},
             Case{{}, {"2001:db8::1"}, {"192.0.2.1"}, {}, {"0 192.0.2.1", "250 2001:db8::1"}},
             Case{{"2001:db8::1"}, {}, {}, {"192.0.2.1"}, {"0 2001:db8::1", "250 192.0.2.1"}},
             Case{{"2001:db8::2"},
                  {"2001:db8::1"},
                  {"192.0.2.2"},
                  {"192.0.2.1"},
                  {"0 2001:db8::2", "250 192.0.2.2", "500 2001:db8::1", "750 192.0.2.1"}},
             Case{{}, {"2001:db8::1"}, {}, {"192.0.2.1"}, {"0 2001:db8::1", "250 192.0.2.1"}},
             Case{{}, {}, {}, {}, {}},
         }) {
        Clock clock;
        clock.has_answer(Family::v6, v6, v6_bad);
        clock.has_answer(Family::v4, v4, v4_bad);
        CHECK(clock.all() == order);
    }
}

TEST_CASE("A before AAAA waits 50 ms for it, and no longer") {
    Clock clock;
    CHECK(clock.next() == "waits");
    clock.has_answer(Family::v4, {"192.0.2.1", "192.0.2.2"});
    SUBCASE("it comes in time") {
        CHECK_FALSE(clock.race.next(start + 49ms));
        clock.now = start + 20ms;
        clock.has_answer(Family::v6, {"2001:db8::1"});
        CHECK(clock.all() == Order{"20 2001:db8::1", "270 192.0.2.1", "520 192.0.2.2"});
    }
    SUBCASE("it comes too late, and has its turn") {
        CHECK(clock.next() == "50 192.0.2.1");
        clock.now = start + 100ms;
        clock.has_answer(Family::v6, {"2001:db8::1"});
        CHECK(clock.all() == Order{"300 2001:db8::1", "550 192.0.2.2"});
    }
    SUBCASE("it says that there is none: no need to wait") {
        clock.now = start + 10ms;
        clock.has_answer(Family::v6, {});
        CHECK(clock.next() == "10 192.0.2.1");
    }
    SUBCASE("it never comes") {
        CHECK(clock.next() == "50 192.0.2.1");
        CHECK(clock.next() == "300 192.0.2.2");
        CHECK(clock.next() == "waits");
        CHECK_FALSE(clock.race.exhausted());
    }
}

TEST_CASE("AAAA before A begins at once, unless all it names failed lately") {
    Clock clock;
    SUBCASE("good") {
        clock.has_answer(Family::v6, {"2001:db8::1"});
        CHECK(clock.next() == "0 2001:db8::1");
        clock.has_answer(Family::v4, {"192.0.2.1"});
        CHECK(clock.next() == "250 192.0.2.1");
    }
    SUBCASE("bad: A may do better") {
        clock.has_answer(Family::v6, {}, {"2001:db8::1"});
        clock.now = start + 20ms;
        clock.has_answer(Family::v4, {"192.0.2.1"});
        CHECK(clock.all() == Order{"20 192.0.2.1", "270 2001:db8::1"});
    }
}

TEST_CASE("after a failure the next need not wait; what was put back comes next") {
    Clock clock;
    clock.has_answer(Family::v6, {"2001:db8::1", "2001:db8::2"});
    clock.has_answer(Family::v4, {"192.0.2.1"});
    CHECK(clock.next() == "0 2001:db8::1");
    clock.now = start + 30ms;
    clock.race.failed();
    CHECK(clock.next() == "30 192.0.2.1");
    CHECK(clock.next() == "280 2001:db8::2");
    clock.race.put_back(*common::IpAddress::parse("192.0.2.1"));
    CHECK_FALSE(clock.race.exhausted());
    clock.race.failed();
    CHECK(clock.next() == "280 192.0.2.1");
    CHECK(clock.race.exhausted());
}

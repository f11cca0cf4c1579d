// A rate that several nodes keep together, in virtual time: how near it is kept, whatever each node has to send,
// however slow the store is, and what happens when it goes, comes back, loses its data or lies.
#include "daemons/decide/queue/ladder.h"
#include "tests/decide/queue/rates/model_store.h"
#include <cmath>
#include <doctest/doctest.h>
#include <functional>
#include <queue>
#include <vector>

using namespace std::chrono_literals;
using namespace decide::queue;
using decide::queue::test::ModelStore;
using smtp::Duration;
using smtp::Monotonic;

namespace {

constexpr std::int64_t second = 1'000'000;

struct Node {
    RateLease lease{RateLease::Followed::yes};
    FleetState fleet{.store = true, .nodes = 3};
    double load = 0; // new messages a second; negative: there is always more
    std::uint32_t waiting = 0;
    std::uint64_t begun = 0, timer = 0;
};

// Several nodes at one limit.
class World {
public:
    World(std::vector<double> loads, Duration gap, std::uint64_t seed, Duration slowest = 2ms)
        : random_(seed), slowest_(slowest), nodes(loads.size()) {
        for (std::size_t n = 0; n < loads.size(); ++n) {
            nodes[n].load = loads[n];
            nodes[n].lease.set_gap(gap);
            nodes[n].fleet.nodes = static_cast<std::uint32_t>(loads.size());
            if (loads[n] < 0)
                at(0, [this, n] { work(n); });
            else if (loads[n] > 0)
                arrive(n);
        }
    }

    void run(Duration by) {
        const auto until = time + by.count();
        while (!events_.empty() && events_.top().time <= until) {
            auto event = events_.top();
            events_.pop();
            time = event.time;
            event.what();
        }
        time = until;
    }
    void at(std::int64_t in, std::function<void()> what) { events_.push({time + in, ++order_, std::move(what)}); }
    // What holds for all nodes from now on.
    void set(const FleetState& fleet) {
        for (std::size_t n = 0; n < nodes.size(); ++n) set(n, fleet);
    }
    void set(std::size_t n, const FleetState& fleet) {
        nodes[n].fleet = fleet;
        work(n);
    }
    std::uint64_t between(std::int64_t from, std::int64_t to) const {
        return static_cast<std::uint64_t>(std::ranges::lower_bound(begun, to) - std::ranges::lower_bound(begun, from));
    }
    // The most within any such time.
    std::uint64_t most_in(std::int64_t span) const {
        std::uint64_t most = 0;
        for (std::size_t first = 0, last = 0; last < begun.size(); ++last) {
            while (begun[last] - begun[first] >= span) ++first;
            most = std::max<std::uint64_t>(most, last - first + 1);
        }
        return most;
    }

    std::int64_t time = 1000 * second;
    bool answers = true;                                        // the store does
    std::int64_t clock = 77 * second;                           // what its clock is ahead
    std::function<void(RateLease::Answer&)> lie = [](auto&) {}; // of the store
    ModelStore store;
    std::vector<std::int64_t> begun; // on all nodes

private:
    struct Event {
        std::int64_t time = 0;
        std::uint64_t order = 0;
        std::function<void()> what;
        bool operator<(const Event& other) const { return std::pair(time, order) > std::pair(other.time, other.order); }
    };
    Monotonic now() const { return Monotonic(Duration(time)); }
    std::int64_t latency() {
        return 100 + static_cast<std::int64_t>(random_.fraction() * static_cast<double>(slowest_.count()));
    }

    void arrive(std::size_t n) {
        const auto wait = -std::log(1 - random_.fraction()) / nodes[n].load;
        at(static_cast<std::int64_t>(wait * static_cast<double>(second)), [this, n] {
            ++nodes[n].waiting;
            work(n);
            arrive(n);
        });
    }

    void work(std::size_t n) {
        Node& node = nodes[n];
        if (node.load < 0) node.waiting = 100'000;
        while (node.waiting > 0) {
            if (const auto question = node.lease.question(node.fleet, node.waiting, ++number_, now()))
                ask(n, *question);
            if (!node.lease.may_begin(now())) {
                const auto next = node.lease.look_at(now());
                REQUIRE(next > now());
                at((next - now()).count(), [this, n, timer = ++node.timer] {
                    if (timer == nodes[n].timer) work(n);
                });
                return;
            }
            node.lease.take(now());
            --node.waiting;
            ++node.begun;
            begun.push_back(time);
        }
    }

    void ask(std::size_t n, const RateLease::Question& question) {
        at(latency(), [this, n, question] {
            if (!answers) return;
            auto answer = store.grant("limit", question, time + clock); // it has a clock of its own
            lie(answer);
            at(latency(), [this, n, answer] {
                nodes[n].lease.answered(answer, random_.fraction(), now());
                work(n);
            });
        });
    }

    Random random_;
    Duration slowest_;
    std::priority_queue<Event> events_;
    std::uint64_t order_ = 0, number_ = 0;

public:
    std::vector<Node> nodes;
};

constexpr double always = -1;

Duration gap_of(std::uint32_t per_second) { return Duration(second) / per_second; }

} // namespace

TEST_CASE("50 a second by three nodes with unequal load, over 60 s") {
    for (const auto slowest : {Duration(200us), Duration(5ms), Duration(50ms), Duration(200ms)})
        for (const auto& loads : std::vector<std::vector<double>>{{always, always, always},
                                                                  {always, 0, 0},
                                                                  {always, 5, 1},
                                                                  {always, 20, 10},
                                                                  {always, always, 3},
                                                                  {60, 20, 5},
                                                                  {30, 30, 0.2}}) {
            World world(loads, gap_of(50), 7, slowest);
            world.run(5s);
            const auto from = world.time;
            const auto calls = world.store.calls;
            world.run(60s);
            const auto sent = world.between(from, world.time);
            CAPTURE(slowest.count());
            CAPTURE(loads[0]);
            CAPTURE(loads[1]);
            CAPTURE(loads[2]);
            CHECK(sent >= 2850);
            CHECK(sent <= 3150);
            CHECK(world.most_in(second) <= 110); // the limit and one batch
            CHECK(world.most_in(60 * second) <= 3060);
            CHECK(static_cast<double>(world.store.calls - calls) <= 0.2 * static_cast<double>(sent));
        }
}

TEST_CASE("many rates, loads and latencies, by chance") {
    double calls = 0, sent_fast = 0;
    for (std::uint64_t seed = 1; seed <= 600; ++seed) {
        Random dice(seed);
        const auto rate = static_cast<std::uint32_t>(std::exp(dice.fraction() * std::log(1000.0)) * 2); // 2 … 2000
        const auto count = 1 + dice.number() % 5;
        std::vector<double> loads;
        for (std::uint64_t n = 0; n < count; ++n)
            loads.push_back(n == 0 ? always : dice.fraction() < 0.3 ? always : dice.fraction() * rate / 3.0);
        World world(loads, gap_of(rate), seed, Duration(static_cast<std::int64_t>(200 + dice.fraction() * 200'000)));
        world.run(5s);
        const auto from = world.time;
        const auto before = world.store.calls;
        world.run(20s);
        const auto sent = static_cast<double>(world.between(from, world.time));
        CAPTURE(seed);
        CAPTURE(rate);
        CAPTURE(count);
        CHECK(sent >= 0.95 * 20 * rate - 2);
        CHECK(sent <= 1.05 * 20 * rate + 2);
        if (rate < 100) continue;
        calls += static_cast<double>(world.store.calls - before);
        sent_fast += sent;
    }
    CHECK(calls / sent_fast <= 0.1);
}

TEST_CASE("who needs more gets more, and equals get the same") {
    World world({always, always, 5}, gap_of(50), 3);
    world.run(120s);
    const auto& nodes = world.nodes;
    CHECK(static_cast<double>(nodes[0].begun) == doctest::Approx(static_cast<double>(nodes[1].begun)).epsilon(0.15));
    CHECK(nodes[2].begun >= 500);
    CHECK(nodes[2].waiting <= 20);
}

TEST_CASE("slow rates: one an hour, one a minute") {
    for (const auto gap : {Duration(1min), Duration(1h), Duration(7s)}) {
        World world({always, always, always}, gap, 5);
        world.run(100 * gap);
        CAPTURE(gap.count());
        CHECK(world.begun.size() >= 95);
        CHECK(world.begun.size() <= 102);
        CHECK(world.store.calls <= 1000);
    }
}

TEST_CASE("below the limit nothing waits but for the first answer, and nothing is asked without mail") {
    World world({20, 10, 0}, gap_of(200), 9);
    world.run(30s);
    for (const auto& node : world.nodes) CHECK(node.waiting <= 1);
    const auto calls = world.store.calls;
    CHECK(static_cast<double>(calls) <= 0.4 * static_cast<double>(world.begun.size()));
    for (auto& node : world.nodes) node.load = 0.000001;
    world.run(5s);
    const auto after = world.store.calls;
    world.run(600s);
    CHECK(world.store.calls <= after + 3);
}

TEST_CASE("the store is away: each node has its part; when it is back, the whole is shared again") {
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        World world({always, always, always}, gap_of(50), seed, 20ms);
        world.run(10s);
        world.answers = false;
        world.run(2500ms);
        world.set({.store = false, .nodes = 3});
        const auto gone = world.time;
        world.run(60s);
        CAPTURE(seed);
        CHECK(static_cast<double>(world.between(gone + second, world.time)) == doctest::Approx(59 * 50).epsilon(0.05));
        // The nodes find it again one after the other.
        world.answers = true;
        world.store.lose_everything();
        const auto back = world.time;
        world.set(0, {.store = true, .nodes = 3, .missing = 2});
        world.run(20s);
        CHECK(static_cast<double>(world.between(back, world.time)) == doctest::Approx(20 * 50).epsilon(0.07));
        world.set(0, {.store = true, .nodes = 3, .missing = 1});
        world.set(1, {.store = true, .nodes = 3, .missing = 1});
        world.run(20s);
        world.set({.store = true, .nodes = 3});
        world.run(20s);
        CHECK(static_cast<double>(world.between(back + 2 * second, world.time)) ==
              doctest::Approx(58 * 50).epsilon(0.05));
        CHECK(world.most_in(60 * second) <= 61 * 50 + 50);
        CHECK(world.most_in(second) <= 150);
    }
}

TEST_CASE("one node has nothing to send while the rate is divided") {
    World world({always, 0, 0}, gap_of(60), 4);
    world.set({.store = false, .nodes = 3});
    world.run(60s);
    CHECK(static_cast<double>(world.begun.size()) == doctest::Approx(20 * 60).epsilon(0.05));
}

TEST_CASE("a store that no longer answers, before it counts as away") {
    World world({always}, gap_of(50), 4);
    world.set({.store = true, .nodes = 2});
    world.run(5s);
    world.answers = false;
    world.run(10s);
    CHECK(world.nodes[0].lease.divided());
    const auto from = world.time;
    world.run(20s);
    CHECK(static_cast<double>(world.between(from, world.time)) == doctest::Approx(20 * 25).epsilon(0.05));
    world.answers = true;
    world.run(10s);
    CHECK_FALSE(world.nodes[0].lease.divided());
}

TEST_CASE("the store loses everything, again and again") {
    World world({always, always, always}, gap_of(50), 4);
    for (int n = 0; n < 20; ++n) {
        world.run(3s);
        world.store.lose_everything();
    }
    CHECK(world.most_in(second) <= 110);
    CHECK(world.begun.size() <= 3100);
    CHECK(world.begun.size() >= 1500); // no tokens for a second each time
}

TEST_CASE("what the store may not grant is not taken") {
    const std::vector<std::function<void(RateLease::Answer&)>> lies = {
        [](auto& answer) { answer.count = 4'000'000'000; },
        [](auto& answer) { answer.count += 1000; },
        [](auto& answer) { answer.delay = -1s; },
        [](auto& answer) { answer.delay = 1h; },
        [](auto& answer) { answer.wait = Duration::min(); },
        [](auto& answer) { answer.known = false; },
        [](auto& answer) { answer.number += 1; },
    };
    for (const auto& lie : lies) {
        World world({always, always}, gap_of(50), 4);
        world.lie = lie;
        world.run(60s);
        CAPTURE(&lie - lies.data());
        for (const auto& node : world.nodes) {
            CHECK(node.lease.divided());
            CHECK(node.begun <= 25 * 61);
            CHECK(node.begun >= 25 * 50);
        }
        CHECK(world.store.calls <= 100);
    }
    World world({always}, gap_of(50), 4); // it never has any
    world.lie = [](auto& answer) {
        answer.count = 0;
        answer.wait = 1h;
    };
    world.run(60s);
    CHECK(world.begun.empty());
    CHECK(world.store.calls <= 100);
}

TEST_CASE("at the start nothing begins before something is known, for a while") {
    RateLease lease(RateLease::Followed::yes);
    lease.set_gap(20ms);
    const Monotonic start(100s);
    const FleetState unknown{.nodes = 3, .hold_until = start + 5s};
    CHECK_FALSE(lease.question(unknown, 10, 1, start));
    CHECK_FALSE(lease.may_begin(start));
    CHECK(lease.look_at(start) == start + 5s);
    CHECK_FALSE(lease.question(unknown, 10, 1, start + 5s));
    CHECK(lease.may_begin(start + 5s));
    CHECK(lease.divided());
}

TEST_CASE("a rate that is not followed is divided, store or not") {
    RateLease lease(RateLease::Followed::no);
    lease.set_gap(20ms);
    const Monotonic start(100s);
    CHECK_FALSE(lease.question({.store = true, .nodes = 4}, 10, 1, start));
    CHECK(lease.may_begin(start));
    lease.take(start);
    CHECK_FALSE(lease.may_begin(start + 79ms));
    CHECK(lease.may_begin(start + 80ms));
}

TEST_CASE("tokens that are not used expire, and fewer are asked for") {
    RateLease lease(RateLease::Followed::yes);
    lease.set_gap(1ms);
    const FleetState fleet{.store = true, .nodes = 3};
    const Monotonic start(100s);
    const auto first = lease.question(fleet, 100'000, 1, start);
    REQUIRE(first);
    CHECK(lease.answered({.number = 1, .known = true, .count = first->count}, 0.5, start));
    CHECK(lease.may_begin(start));
    CHECK_FALSE(lease.answered({.number = 1, .known = true, .count = first->count}, 0.5, start));
    CHECK_FALSE(lease.may_begin(start + 3s));
    const auto second = lease.question(fleet, 100'000, 2, start + 3s);
    REQUIRE(second);
    CHECK(second->count <= 2);
}

TEST_CASE("a hundred nodes: the rate is kept, light loads hardly wait, nobody starves") {
    for (const auto rate : {50U, 500U}) {
        std::vector<double> loads;
        for (int n = 0; n < 100; ++n) loads.push_back(n % 3 == 0 ? always : n % 3 == 1 ? rate / 300.0 : 0.0);
        World world(loads, gap_of(rate), 7);
        world.run(5s);
        const auto from = world.time;
        const auto calls = world.store.calls;
        world.run(60s);
        CHECK(static_cast<double>(world.between(from, world.time)) == doctest::Approx(60 * rate).epsilon(0.05));
        CHECK(world.store.calls - calls <= 60 * 100); // one for each node and second
        for (std::size_t n = 0; n < 100; n += 3) CHECK(world.nodes[n].begun >= rate * 60 / 100 / 4);
        for (std::size_t n = 1; n < 100; n += 3) CHECK(world.nodes[n].waiting <= 20);
    }
}
TEST_CASE("the store's clock is set back by an hour: a second without tokens, no more") {
    World world({always, always}, gap_of(50), 4);
    world.run(10s);
    world.clock -= 3600 * second;
    const auto from = world.time;
    world.run(10s);
    CHECK(world.between(from, world.time) >= 8 * 50);
    CHECK(world.most_in(second) <= 110);
}

TEST_CASE("a rate that is raised by a reload holds at once, also while the rate is divided") {
    for (const bool store : {true, false}) {
        World world({always, always}, Duration(1h), 4);
        world.set({.store = store, .nodes = 2});
        world.run(10h);
        for (auto& node : world.nodes) node.lease.set_gap(gap_of(10));
        world.set({.store = store, .nodes = 2});
        const auto from = world.time;
        world.run(20s);
        CAPTURE(store);
        CHECK(world.between(from, world.time) >= 150);
        CHECK(world.between(from, world.time) <= 210);
    }
}

TEST_CASE("nodes with different rates: none is faster than its own, and all together not than the fastest") {
    World world({always, always}, gap_of(50), 4);
    world.nodes[1].lease.set_gap(Duration(1min));
    world.run(600s);
    CHECK(world.nodes[1].begun <= 12);
    CHECK(world.nodes[1].begun >= 2);
    CHECK(world.begun.size() <= 601 * 50);
    CHECK(world.begun.size() >= 570 * 50);
}

TEST_CASE("a store that grants whatever is asked for: no node is faster than the whole rate") {
    for (const auto gap : {gap_of(50), gap_of(2), Duration(1s), Duration(1min), Duration(1h)}) {
        World world({always, always}, gap, 4);
        world.lie = [number = std::uint64_t{0}](RateLease::Answer& answer) {
            if (answer.count == 0) answer.count = 1;
            answer.delay = {};
        };
        world.run(100 * gap + 10s);
        CAPTURE(gap.count());
        const auto most = (100 * gap + 10s) / gap;
        for (const auto& node : world.nodes) {
            CHECK(node.begun <= static_cast<std::uint64_t>(most + std::max<std::int64_t>(Duration(1s) / gap, 1) + 3));
            CHECK(node.begun >= 95);
        }
        CHECK(world.store.calls <= 6000);
    }
}

TEST_CASE("slow rates while the store goes away and comes back: one message more for each node, at most") {
    for (std::uint64_t seed = 1; seed <= 50; ++seed)
        for (const auto gap : {Duration(1min), Duration(1h)}) {
            World world({always, always, always}, gap, seed);
            world.run(10 * gap + gap / 60);
            const auto gone = world.time;
            world.answers = false;
            world.set({.store = false, .nodes = 3});
            world.run(30 * gap);
            CAPTURE(seed);
            CAPTURE(gap.count());
            const auto parts = world.between(gone, world.time);
            CHECK(parts >= 27);
            CHECK(parts <= 31);
            CHECK(world.between(gone, gone + gap.count()) <= 3);
            world.answers = true;
            world.store.lose_everything();
            const auto back = world.time;
            world.set({.store = true, .nodes = 3});
            world.run(30 * gap);
            CHECK(world.between(back, world.time) <= 32);
            CHECK(world.between(back, world.time) >= 27);
        }
}

TEST_CASE("the node that sent last before the store went away waits for its next part") {
    for (const auto gap : {Duration(1min), Duration(1h)}) {
        World world({always, 0, 0}, gap, 3);
        world.run(10 * gap);
        const auto last = world.begun.back();
        world.answers = false;
        world.set({.store = false, .nodes = 3});
        const auto gone = world.time;
        world.run(7 * gap);
        const auto count = world.between(gone, world.time);
        CHECK(count <= 2);
        CHECK(count >= 1);
        CHECK(world.between(last + 1, last + 3 * gap.count()) == 0);
    }
}

TEST_CASE("mail that comes after an outage, for a link that had none in it, is sent by a token") {
    RateLease lease(RateLease::Followed::yes);
    lease.set_gap(Duration(1min));
    Monotonic now(1000s);
    CHECK_FALSE(lease.question({.store = false, .nodes = 3}, 1, 1, now));
    CHECK(lease.may_begin(now));
    lease.take(now);
    now += 1h;
    CHECK(lease.question({.store = true, .nodes = 3}, 1, 2, now));
    CHECK_FALSE(lease.divided());
    CHECK_FALSE(lease.may_begin(now));
}

TEST_CASE("two calls fail: a slow rate is shared again as soon as calls are answered") {
    World world({always, 0, 0}, Duration(1min), 4);
    world.run(10min);
    world.answers = false;
    world.run(70s);
    REQUIRE(world.nodes[0].lease.divided());
    world.answers = true;
    world.run(10s);
    CHECK_FALSE(world.nodes[0].lease.divided());
}

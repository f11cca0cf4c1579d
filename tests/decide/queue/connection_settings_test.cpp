// The keys of [queue] for connections: how many, how much each takes over, how the lanes share them.
#include "tests/decide/queue/settings_bench.h"
#include <algorithm>

using namespace decide::queue;
using namespace decide::queue::test;

namespace {

// Connections of a link whose host takes them and never answers.
std::size_t connections_of_a_tarpit(const Settings& s, RouteKind kind, const std::string& rule = "") {
    Bench b(s);
    b.rule = rule;
    b.route_kind["x.example"] = kind;
    for (int n = 0; n < 300; ++n) b.send({"x.example"});
    b.pass(5min);
    return b.opened.size();
}

} // namespace

TEST_CASE("queue.lane_weights: shares of high, normal and bulk") {
    for (const auto& [weights, high] : {std::pair{std::array{16u, 4u, 1u}, 16}, {std::array{1u, 1u, 1u}, 10}}) {
        Bench b(with([&, weights = weights](Settings& s) {
            s.lane_weights = weights;
            s.connections_route = s.batch = 1;
        }));
        b.send({"x.example"});
        std::vector<spool::QueueId> urgent;
        for (int n = 0; n < 30; ++n) {
            urgent.push_back(b.send({"x.example"}, {.lane = Lane::high}));
            b.send({"x.example"});
        }
        b.answer(b.take(), Outcome::delivered);
        int of_high = 0;
        for (int n = 0; n < 20; ++n) {
            of_high += std::ranges::count(urgent, b.take().id) > 0;
            b.answer(b.take(), Outcome::delivered);
        }
        CHECK(of_high == high);
    }
}

TEST_CASE("queue.recipients_per_transaction: recipients sent in one go") {
    for (const auto& [most, first] : {std::pair{100u, 100u}, {7u, 7u}}) {
        Bench b(with([&, most = most](Settings& s) { s.recipients_per_transaction = most; }));
        b.send(std::vector<std::string>(120, "x.example"));
        CHECK(b.take().numbers.size() == first);
    }
}

TEST_CASE("queue.batch: deliveries handed to one connection at a time") {
    for (const std::uint32_t batch : {20u, 3u}) {
        Bench b(with([&](Settings& s) { s.batch = batch; }));
        b.connects = false;
        for (int n = 0; n < 100; ++n) b.send({"x.example"});
        b.up(b.opened.front());
        b.pass(200us); // quick
        b.answer(b.take(), Outcome::delivered);
        CHECK(b.handed.size() == batch);
    }
}

TEST_CASE("queue.drain_target: another connection when the open ones would take longer") {
    for (const auto& [target, open] : {std::pair{500ms, 10u}, {5000ms, 1u}}) {
        Bench b(with([&, target = target](Settings& s) { s.drain_target = target; }));
        b.send({"x.example"});
        b.pass(500ms); // what a transaction takes
        b.answer(b.take(), Outcome::delivered);
        b.engine.pause(Scope::queue, "x.example", b.now(), b.out);
        for (int n = 0; n < 10; ++n) b.send({"x.example"});
        b.engine.resume(Scope::queue, "x.example", b.now(), b.out);
        b.run();
        CHECK(b.opened.size() == open);
    }
}

TEST_CASE("queue.initial_connections_mx: of an MX link, before any success") {
    CHECK(connections_of_a_tarpit(Bench::exact(), RouteKind::mx) == 5);
    CHECK(connections_of_a_tarpit(with([](Settings& s) { s.window_start = 2; }), RouteKind::mx) == 2);
}

TEST_CASE("queue.initial_connections_route: of the link of a configured route") {
    CHECK(connections_of_a_tarpit(Bench::exact(), RouteKind::configured) == 50);
    CHECK(connections_of_a_tarpit(with([](Settings& s) { s.window_start_route = 3; }), RouteKind::configured) == 3);
}

TEST_CASE("queue.connections_mx: at most, of an MX link") {
    const auto of = [](std::uint32_t most) {
        return with([=](Settings& s) { s.window_start = 1000, s.connections_mx = most; });
    };
    CHECK(connections_of_a_tarpit(of(20), RouteKind::mx) == 20);
    CHECK(connections_of_a_tarpit(of(8), RouteKind::mx) == 8);
}

TEST_CASE("queue.connections_route: at most, of the link of a configured route") {
    const auto of = [](std::uint32_t most) {
        return with([=](Settings& s) { s.window_start_route = 1000, s.connections_route = most; });
    };
    CHECK(connections_of_a_tarpit(of(100), RouteKind::configured) == 100);
    CHECK(connections_of_a_tarpit(of(8), RouteKind::configured) == 8);
}

TEST_CASE("queue.connections_per_address: at most, of all MX links together") {
    for (const std::uint32_t most : {20u, 4u}) {
        Bench b(with([&](Settings& s) {
            s.connections_per_address = most;
            s.window_start = 20;
        }));
        for (const char* domain : {"x.example", "y.example"}) {
            b.route_kind[domain] = RouteKind::mx;
            b.address_of[domain] = "192.0.2.1:25";
            for (int n = 0; n < 50; ++n) b.send({domain});
        }
        b.pass(5min);
        CHECK(b.opened.size() == most);
    }
}

TEST_CASE("queue.connections_local: deliveries to mailboxes at the same time") {
    for (const std::uint32_t most : {10u, 4u}) {
        Bench b(with([&](Settings& s) { s.connections_local = most; }));
        for (int n = 0; n < 50; ++n) b.send({"local"});
        CHECK(b.handed.size() == most);
    }
}

TEST_CASE("queue.connections_per_user: commands of one user at the same time") {
    for (const std::uint32_t most : {2u, 5u}) {
        Bench b(with([&](Settings& s) { s.connections_per_user = most; }));
        for (int n = 0; n < 50; ++n) b.send({"local/ann"});
        CHECK(b.handed.size() == most);
        b.engine.configure(with([&](Settings& s) { s.connections_per_user = most + 2; }), b.now(), b.out);
        b.run();
        CHECK(b.handed.size() == most + 2);
    }
}

TEST_CASE("queue.connections_total: of all links together") {
    for (const std::uint32_t most : {60u, 9u}) {
        Bench b(with([&](Settings& s) { s.connections_total = most; }));
        for (int n = 0; n < 200; ++n) b.send({"d" + std::to_string(n % 50) + ".example"});
        b.pass(5min);
        CHECK(b.opened.size() == most);
    }
}

TEST_CASE("queue.link_share: while others wait, no link holds more than its part") {
    for (const auto& [share, most] : {std::pair{5u, 4u}, {2u, 10u}}) {
        Bench b(with([&, share = share](Settings& s) {
            s.link_share = share;
            s.connections_total = 20;
            s.messages_per_connection = 1;
        }));
        for (int n = 0; n < 100; ++n) b.send({"greedy.example"});
        b.pass(1min);
        REQUIRE(b.link("greedy.example").connections == 20); // nobody else
        for (int n = 0; n < 100; ++n) b.send({"d" + std::to_string(n) + ".example"});
        for (int n = 0; n < 40; ++n) { // its own end, one by one; those of others stay
            const auto its = std::ranges::find_if(
                b.handed, [&](const Handed& h) { return b.recipients[h.id.value].front() == "greedy.example"; });
            if (its == b.handed.end()) break;
            b.answer(*its, Outcome::delivered);
            if (b.link("greedy.example").connections <= most) break;
        }
        CHECK(b.link("greedy.example").connections == most);
    }
}

TEST_CASE("queue.messages_per_connection: then it is closed") {
    for (const auto& [most, connections] : {std::pair{100u, 1u}, {3u, 4u}}) {
        Bench b(with([&, most = most](Settings& s) { s.messages_per_connection = most; }));
        for (int n = 0; n < 12; ++n) {
            b.send({"x.example"});
            b.answer(b.take(), Outcome::delivered);
        }
        CHECK(b.tries.size() == connections);
    }
}

TEST_CASE("queue.connection_idle_timeout: how long a connection without work is kept") {
    for (const auto idle : {3s, 30s}) {
        Bench b(with([&](Settings& s) { s.connection_idle = idle; }));
        b.send({"x.example"});
        b.answer(b.take(), Outcome::delivered);
        CHECK(until(b, [&] { return b.opened.empty(); }) == static_cast<double>(idle.count()));
    }
}

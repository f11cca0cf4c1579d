// A collection over real sockets: daemons that answer, one that does not, one that goes.
#include "daemons/common/net/local_socket.h"
#include "daemons/common/process/metrics_reporter.h"
#include "daemons/metrics/collection.h"
#include "tests/temporary_directory.h"
#include <doctest/doctest.h>
#include <optional>

using namespace std::chrono_literals;
using common::MetricId;
using proto::Role;

namespace {

struct Place {
    TemporaryDirectory folder{"private"};
    std::string run = folder.path().string();
    common::Loop loop;
    common::Log log{loop, "metrics"};
    metrics::Aggregator aggregator;
    common::Metrics own;
    metrics::Collection collection{loop, aggregator, own, [] {}};
    std::optional<ipc::Listener> listener;
    int attached = 0;

    Place() {
        auto fd = common::listen_local(run + "/private/metrics", 0600);
        REQUIRE(fd);
        listener.emplace(loop, log, *std::move(fd), ipc::ExpectedTokens{"key", {Role::smtpd, Role::router}});
        listener->serve<proto::metrics::Message>(proto::metrics::conversation, {Role::smtpd, Role::router},
                                                 [this](ipc::Peer peer, auto channel) {
                                                     collection.attach(peer, std::move(channel));
                                                     ++attached;
                                                 });
    }
    template <class Done> void until(Done done) {
        common::Timer limit(loop, [this] { loop.stop(); });
        limit.start(10s);
        while (!done() && limit.armed()) uv_run(&loop.uv(), UV_RUN_ONCE);
        REQUIRE(done());
    }
    void round() {
        bool over = false;
        collection.request([&] { over = true; });
        until([&] { return over; });
    }
    std::int64_t value(MetricId family) const { return aggregator.value(common::first_cell(family)); }
};

} // namespace

TEST_CASE("daemons are asked when somebody wants to know, and what they say is added up") {
    Place place;
    place.round(); // nobody is there: over at once
    common::Metrics first, second;
    int measured = 0;
    common::MetricsReporter one(place.loop, place.log, place.run,
                                {Role::smtpd, 16, {{"metrics", ipc::token_of("key", Role::smtpd, 16)}}}, first,
                                [&] { ++measured; });
    std::optional<common::MetricsReporter> two(
        std::in_place, place.loop, place.log, place.run,
        ipc::Identity{Role::smtpd, 17, {{"metrics", ipc::token_of("key", Role::smtpd, 17)}}}, second, [&] {
            ++measured;
            second.set(MetricId::sessions_open, 4);
        });
    place.until([&] { return place.attached == 2; });
    CHECK(measured == 0); // unasked nobody says a word
    first.count(MetricId::sessions);
    second.add(MetricId::sessions, 2);
    place.round();
    CHECK(measured == 2);
    CHECK(place.value(MetricId::sessions) == 3);
    CHECK(place.value(MetricId::sessions_open) == 4);
    place.round();
    CHECK(place.value(MetricId::sessions) == 3);
    second.count(MetricId::sessions);
    two->send_final();
    two.reset();
    place.until([&] { return place.value(MetricId::sessions_open) == 0; });
    CHECK(place.value(MetricId::sessions) == 4);
    CHECK(place.own.take().cells.empty()); // its own are handed over with each round
}

TEST_CASE("who does not answer is waited for briefly, and named") {
    Place place;
    ipc::Connector<proto::metrics::Message> silent(
        place.loop, place.log, place.run + "/private/metrics", proto::metrics::conversation,
        {Role::router, 0, {{"metrics", ipc::token_of("key", Role::router, 0)}}}, {[](proto::metrics::Message&&) {}});
    place.until([&] { return place.attached == 1; });
    place.round();
    const auto late = common::cell_of(MetricId::late_answers, {static_cast<std::size_t>(Role::router)});
    CHECK(place.aggregator.value(late) == 1);
    CHECK(place.value(MetricId::scrapes) == 1);
}

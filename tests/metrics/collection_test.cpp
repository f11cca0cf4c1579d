// Rounds over real sockets: daemons that answer, one that does not, one that goes.
#include "daemons/metrics/collection.h"
#include "daemons/common/process/metrics_reporter.h"
#include "daemons/common/net/local_socket.h"
#include "tests/temporary_directory.h"
#include <doctest/doctest.h>
#include <optional>

using namespace std::chrono_literals;
using common::Family;
using proto::Role;

namespace {

struct Place {
    TemporaryDirectory folder{"private"};
    std::string run = folder.path().string();
    common::Loop loop;
    common::Log log{loop, "metrics"};
    metrics::Ledger ledger;
    common::Figures own;
    metrics::Rounds rounds{loop, ledger, own, [] {}};
    std::optional<ipc::Listener> listener;
    int attached = 0;

    Place() {
        auto fd = common::listen_local(run + "/private/metrics", 0600);
        REQUIRE(fd);
        listener.emplace(loop, log, *std::move(fd),
                         ipc::ExpectedTokens{"key", {Role::smtpd, Role::router}});
        listener->serve<proto::figures::Message>(proto::figures::conversation, {Role::smtpd, Role::router},
                                                 [this](ipc::Peer peer, auto channel) {
                                                     rounds.attach(peer, std::move(channel));
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
        rounds.want([&] { over = true; });
        until([&] { return over; });
    }
    std::int64_t value(Family family) const { return ledger.value(common::first_cell(family)); }
};

} // namespace

TEST_CASE("daemons are asked when somebody wants to know, and what they say is added up") {
    Place place;
    place.round(); // nobody is there: over at once
    common::Figures first, second;
    int measured = 0;
    common::FigureReporter one(place.loop, place.log, place.run, {Role::smtpd, 16, {{"metrics", ipc::token_of("key", Role::smtpd, 16)}}}, first, [&] { ++measured; });
    std::optional<common::FigureReporter> two(std::in_place, place.loop, place.log, place.run,
                                              ipc::Identity{Role::smtpd, 17, {{"metrics", ipc::token_of("key", Role::smtpd, 17)}}}, second, [&] {
                                                  ++measured;
                                                  second.set(Family::sessions_open, 4);
                                              });
    place.until([&] { return place.attached == 2; });
    CHECK(measured == 0); // unasked nobody says a word
    first.count(Family::sessions);
    second.add(Family::sessions, 2);
    place.round();
    CHECK(measured == 2);
    CHECK(place.value(Family::sessions) == 3);
    CHECK(place.value(Family::sessions_open) == 4);
    place.round();
    CHECK(place.value(Family::sessions) == 3);
    second.count(Family::sessions);
    two->last_words();
    two.reset();
    place.until([&] { return place.value(Family::sessions_open) == 0; });
    CHECK(place.value(Family::sessions) == 4);
    CHECK(place.own.take().cells.empty()); // its own are handed over with each round
}

TEST_CASE("who does not answer is waited for briefly, and named") {
    Place place;
    ipc::Connector<proto::figures::Message> silent(place.loop, place.log, place.run + "/private/metrics",
                                                   proto::figures::conversation, {Role::router, 0, {{"metrics", ipc::token_of("key", Role::router, 0)}}},
                                                   {[](proto::figures::Message&&) {}});
    place.until([&] { return place.attached == 1; });
    place.round();
    const auto late = common::cell_of(Family::late_answers, {static_cast<std::size_t>(Role::router)});
    CHECK(place.ledger.value(late) == 1);
    CHECK(place.value(Family::scrapes) == 1);
}

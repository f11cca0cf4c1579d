// The metrics' text over a real socket: whole, whatever its size, and one request at a time.
#include "daemons/common/ipc/connector.h"
#include "daemons/common/ipc/listener.h"
#include "daemons/common/net/local_socket.h"
#include "daemons/metrics/text_readers.h"
#include "tests/temporary_directory.h"
#include <doctest/doctest.h>
#include <vector>

using namespace std::chrono_literals;
using namespace proto::metrics_text;

namespace {

struct Place {
    TemporaryDirectory folder{"private"};
    std::string path = folder.path().string() + "/private/metrics", text, received;
    common::Loop loop;
    common::Log log{loop, "metrics"};
    std::vector<std::function<void()>> collecting;
    metrics::TextReaders readers{loop, [this](auto done) { collecting.push_back(std::move(done)); },
                                 [this] { return text; }};
    ipc::Listener listener{loop, log, *common::listen_local(path, 0600),
                           ipc::ExpectedTokens{"key", {proto::Role::http}}};
    int answers = 0, ends = 0;
    ipc::Connector<Message> client{loop,
                                   log,
                                   path,
                                   conversation,
                                   {proto::Role::http, 0, {{"metrics", ipc::token_of("key", proto::Role::http, 0)}}},
                                   {.on_message =
                                        [this](Message&& message) {
                                            received += std::get<Piece>(message).text;
                                            answers += std::get<Piece>(message).last;
                                        },
                                    .on_down = [this](const std::string&) { ++ends; }}};

    Place() {
        listener.serve<Message>(conversation, {proto::Role::http},
                                [this](ipc::Peer, auto channel) { readers.attach(std::move(channel)); });
        until([&] { return client.up(); });
    }
    template <class Done> void until(Done done) {
        common::Timer limit(loop, [this] { loop.stop(); });
        limit.start(10s);
        while (!done() && limit.armed()) uv_run(&loop.uv(), UV_RUN_ONCE);
        REQUIRE(done());
    }
    void answer() {
        until([&] { return !collecting.empty(); });
        for (auto& each : std::exchange(collecting, {})) each();
    }
};

} // namespace

TEST_CASE("a text of any size arrives whole") {
    Place place;
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{5}, largest_piece, largest_piece + 1, 10 * largest_piece}) {
        CAPTURE(size);
        place.text.assign(size, 'x');
        place.received.clear();
        const int before = place.answers;
        place.client.send(Scrape{});
        place.answer();
        place.until([&] { return place.answers > before; });
        CHECK(place.received == place.text);
    }
}

TEST_CASE("a second request before the answer ends the connection, and a reader that has gone gets none") {
    Place place;
    place.client.send(Scrape{});
    place.client.send(Scrape{});
    place.until([&] { return place.ends == 1; });
    place.answer();
    CHECK(place.answers == 0);
    place.until([&] { return place.client.up(); });
    place.client.send(Scrape{});
    place.answer();
    place.until([&] { return place.answers == 1; });
}

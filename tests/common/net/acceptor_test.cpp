#include "daemons/common/net/acceptor.h"
#include "daemons/common/net/local_socket.h"
#include "tests/temporary_directory.h"
#include <doctest/doctest.h>
#include <vector>

using namespace common;

namespace {

struct Place {
    Fd connect() const {
        auto fd = connect_local(path);
        REQUIRE(fd);
        return *std::move(fd);
    }
    Fd listening() const {
        auto fd = listen_local(path, 0600);
        REQUIRE(fd);
        return *std::move(fd);
    }

    TemporaryDirectory directory;
    const std::string path = directory.path().string() + "/socket";
};

} // namespace

TEST_CASE("connections are taken as they come, more than a batch of them too") {
    Place place;
    Loop loop;
    std::vector<Fd> taken, clients;
    Acceptor acceptor(loop, place.listening(), [&](Fd socket) {
        taken.push_back(std::move(socket));
        if (taken.size() == 100) loop.stop();
    });
    for (int i = 0; i < 100; ++i) clients.push_back(place.connect());
    loop.run();
    CHECK(taken.size() == 100);
}

TEST_CASE("those who have connected are taken without the loop") {
    Place place;
    Loop loop;
    std::vector<Fd> taken, clients;
    Acceptor acceptor(loop, place.listening(), [&](Fd socket) { taken.push_back(std::move(socket)); });
    for (int i = 0; i < 100; ++i) clients.push_back(place.connect());
    acceptor.drain();
    CHECK(taken.size() == 100);
    acceptor.drain();
    CHECK(taken.size() == 100);
}

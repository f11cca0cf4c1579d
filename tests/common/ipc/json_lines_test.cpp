#include "daemons/common/ipc/json_lines.h"
#include "tests/temporary_directory.h"
#include <cstdlib>
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

using namespace ipc;
using namespace common;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

// Serves on a thread of its own, as a daemon would.
class Server {
public:
    explicit Server(smtp::Duration patience = JsonServer::default_timeout) : patience_(patience) {
        path = directory_.path() / "control";
        auto fd = listen_local(path, 0600);
        REQUIRE(fd);
        thread_ = std::thread([this, fd = std::make_shared<Fd>(*std::move(fd))] { run(std::move(*fd)); });
    }
    ~Server() {
        auto client = JsonClient::connect(path);
        if (client) (void)client->ask({{"op", "end"}}, [](const json&) {});
        thread_.join();
    }
    std::string path;

private:
    void run(Fd fd) {
        Loop loop;
        Log log(loop, "master");
        std::unique_ptr<Timer> slow;
        std::function<void(std::uint64_t, int)> stream;
        int left = 0; // who was being answered
        std::uint64_t watcher = 0;
        const auto tell_watcher = [&](JsonServer& to) {
            if (left == 0 || watcher == 0) return;
            to.send(watcher, {{"left", left}});
            to.finish(std::exchange(watcher, 0));
        };
        JsonServer server(
            loop, log, std::move(fd), Operators{geteuid(), true, {}},
            [&](const JsonServer::Request& request, const json& body) {
                const std::string op = body["op"];
                const auto peer = request.peer;
                if (op == "end") {
                    server.finish(peer);
                    loop.defer([&] { loop.stop(); });
                } else if (op == "who") {
                    server.send(peer, {{"uid", request.credentials.uid}});
                    server.finish(peer);
                } else if (op == "limited") {
                    server.send(peer, {{"limit", body.value("limit", 0)}});
                    server.finish(peer);
                } else if (op == "later") {
                    slow = std::make_unique<Timer>(loop, [&server, peer] {
                        server.send(peer, {{"answer", 1}});
                        server.finish(peer);
                    });
                    slow->start(20ms);
                } else if (op == "hang" || op == "answered") {
                    server.send(peer, {{"heard", true}});
                    server.on_disconnect(peer, [&] {
                        ++left;
                        tell_watcher(server);
                    });
                    if (op == "answered") server.finish(peer);
                } else if (op == "watch") { // until somebody has left
                    watcher = peer;
                    tell_watcher(server);
                } else if (op == "flood") {
                    for (int i = 0; i < 20'000 && server.send(peer, {{"text", std::string(100, 'x')}}); ++i) {
                    }
                    server.finish(peer);
                } else if (op == "huge") { // never in one go: it would be too much
                    for (std::size_t sent = 0; sent < 2 * JsonServer::max_unread; sent += 1 << 20)
                        server.send(peer, {{"text", std::string(1 << 20, 'x')}});
                    server.finish(peer);
                } else if (op == "many") {
                    stream = [&, peer](std::uint64_t, int from) {
                        for (int i = from; i < 20'000; ++i) {
                            if (server.congested(peer))
                                return server.on_writable(peer, [&stream, peer, i] { stream(peer, i); });
                            server.send(peer, {{"n", i}, {"text", std::string(100, 'x')}});
                        }
                        server.finish(peer);
                    };
                    stream(peer, 0);
                } else {
                    server.refuse(peer, "there is no \"" + op + "\"");
                }
            },
            patience_);
        loop.run();
    }
    const smtp::Duration patience_;
    TemporaryDirectory directory_;
    std::thread thread_;
};

std::string raw(const std::string& path, const std::string& bytes) {
    auto fd = connect_local(path);
    REQUIRE(fd);
    for (std::size_t sent = 0; sent < bytes.size();) { // the server may read on only after it has answered
        const auto n = write(fd->number(), bytes.data() + sent, bytes.size() - sent);
        if (n > 0) sent += static_cast<std::size_t>(n);
        pollfd ready{fd->number(), POLLOUT, 0};
        if (n < 0) REQUIRE(poll(&ready, 1, 5'000) == 1);
        if (n < 0 && (ready.revents & (POLLHUP | POLLERR))) break;
    }
    shutdown(fd->number(), SHUT_WR);
    std::string out;
    while (true) {
        pollfd ready{fd->number(), POLLIN, 0};
        if (poll(&ready, 1, 5'000) != 1) return out + "(hangs)";
        char space[4096];
        const auto n = read(fd->number(), space, sizeof space);
        if (n <= 0) return out;
        out.append(space, static_cast<std::size_t>(n));
    }
}

} // namespace

TEST_CASE("commands ask and are answered: at once, later, in a stream that is not held in memory") {
    Server server;
    auto client = JsonClient::connect(server.path);
    REQUIRE(client);
    std::vector<json> lines;
    const auto keep = [&](const json& line) { lines.push_back(line); };
    REQUIRE(client->ask({{"op", "who"}}, keep));
    REQUIRE(lines.size() == 1);
    CHECK(lines[0]["uid"] == getuid());
    REQUIRE(client->ask({{"op", "later"}}, keep));
    CHECK(lines.back()["answer"] == 1);
    int next = 0;
    REQUIRE(client->ask({{"op", "many"}}, [&](const json& line) { CHECK(line["n"] == next++); }));
    CHECK(next == 20'000);
    const auto refused = client->ask({{"op", "dance"}}, keep);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().what == "there is no \"dance\"");
    CHECK(client->refusal() == "bad-request");
}

TEST_CASE("whoever goes away while he is being answered is noticed at once; who was answered is no matter") {
    Server server;
    const auto none = [](const json&) {};
    {
        auto answered = JsonClient::connect(server.path);
        REQUIRE(answered);
        REQUIRE(answered->ask({{"op", "answered"}}, none));
    }
    {
        auto fd = connect_local(server.path);
        REQUIRE(fd);
        const std::string request = "{\"version\":1,\"op\":\"hang\"}\n";
        REQUIRE(write(fd->number(), request.data(), request.size()) == static_cast<ssize_t>(request.size()));
        pollfd heard{fd->number(), POLLIN, 0};
        REQUIRE(poll(&heard, 1, 10'000) == 1);
    }
    auto client = JsonClient::connect(server.path);
    REQUIRE(client);
    int left = 0;
    REQUIRE(client->ask({{"op", "watch"}}, [&](const json& line) { left = line["left"]; }));
    CHECK(left == 1);
}

TEST_CASE("what is asked meanwhile waits its turn, up to a bound; who ends only his side is answered") {
    Server server;
    const std::string later = "{\"version\":1,\"op\":\"later\"}\n", answer = "{\"answer\":1}\n{\"done\":true}\n";
    CHECK(raw(server.path, later) == answer);
    CHECK(raw(server.path, later + later + later) == answer + answer + answer);
    CHECK(raw(server.path, later + std::string(JsonServer::max_request + 1, 'x')) == answer);
}

TEST_CASE("whoever reads nothing of his answer is let go") {
    const auto asks = [](const Server& server, const char* what) {
        auto fd = connect_local(server.path);
        REQUIRE(fd);
        const auto request = std::string("{\"version\":1,\"op\":\"") + what + "\"}\n";
        REQUIRE(write(fd->number(), request.data(), request.size()) == static_cast<ssize_t>(request.size()));
        pollfd gone{fd->number(), 0, 0}; // nothing is read: only the end is waited for
        return poll(&gone, 1, 20'000) == 1 && (gone.revents & POLLHUP) != 0;
    };
    Server server(100ms);
    CHECK(asks(server, "flood"));
    CHECK(asks(server, "huge"));
    auto client = JsonClient::connect(server.path);
    REQUIRE(client);
    CHECK(client->ask({{"op", "who"}}, [](const json&) {}));
}

TEST_CASE("nonsense is answered with words or a closed door") {
    Server server;
    CHECK(raw(server.path, "EHLO x\r\n") ==
          "{\"code\":\"bad-request\",\"done\":true,\"error\":\"not a JSON object\"}\n");
    CHECK(raw(server.path, "[1]\n{\"version\":1}\n") ==
          "{\"code\":\"bad-request\",\"done\":true,\"error\":\"not a JSON "
          "object\"}\n{\"code\":\"bad-request\",\"done\":true,\"error\":\"\\\"op\\\" is missing\"}\n");
    CHECK(raw(server.path, "{\"version\":2,\"op\":\"who\"}\n").find("expected version 1:") != std::string::npos);
    CHECK(raw(server.path, "{\"version\":1,\"op\":\"limited\",\"limit\":\"x\"}\n").find("invalid request") !=
          std::string::npos);
    CHECK(raw(server.path, std::string(100'000, 'x')) == "");
    CHECK(raw(server.path, "") == "");
}

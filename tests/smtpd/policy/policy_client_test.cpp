#include "daemons/smtpd/policy/policy_client.h"
#include "tests/common/net/fake_service.h"
#include "tests/temporary_directory.h"

using namespace smtpd;
using namespace std::chrono_literals;

namespace {

struct World {
    explicit World(std::uint32_t connections = 1, std::chrono::microseconds timeout = 1h,
                   std::chrono::microseconds busy_timeout = 1h)
        : server(loop, directory.path() / "policy") {
        log.configure({}, common::Fd(::open((directory.path() / "log").c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600)));
        config::PolicyService service;
        service.name = "greylisting";
        service.address.path = directory.path() / "policy";
        service.timeout = timeout;
        service.busy_timeout = busy_timeout;
        service.connections = connections;
        client.emplace(loop, log, service,
                       common::ServiceStatus([this](std::string_view text) { status = text; }, "policy greylisting",
                                             service.on_failure));
        server.heard = [this](std::size_t connection, std::string_view bytes) {
            asked.emplace_back(connection, bytes);
            if (answers) server.say(connection, "action=" + std::string(bytes.substr(0, bytes.find('\n'))) + "\n\n");
            if (asked.size() == stop_at) loop.stop();
        };
    }
    ~World() { client.reset(); }
    // Each is answered with its first line.
    std::uint64_t ask(const std::string& question) {
        return client->ask(question + "\n\n", [this, question](std::optional<std::string> action) {
            said.push_back(question + ": " + action.value_or("none"));
            loop.stop();
        });
    }
    void run_until_said(std::size_t n) {
        while (said.size() < n) loop.run();
    }
    void run_until_asked(std::size_t n) {
        stop_at = n;
        while (asked.size() < n) loop.run();
    }
    std::string logged() {
        log.flush();
        return directory.text("log");
    }

    TemporaryDirectory directory;
    common::Loop loop;
    common::Log log{loop, "smtpd"};
    FakeService server;
    std::optional<PolicyClient> client;
    std::vector<std::pair<std::size_t, std::string>> asked; // on which connection
    std::vector<std::string> said;
    std::string status; // what it says of the service
    bool answers = true;
    std::size_t stop_at = 0;
};

} // namespace

TEST_CASE("questions go over as few connections as there may be, one after the other") {
    World w;
    for (const char* question : {"a", "b", "c"}) w.ask(question);
    w.run_until_said(3);
    CHECK(w.said == std::vector<std::string>{"a: a", "b: b", "c: c"});
    CHECK(w.server.connections() == 1);
    World two(2);
    for (const char* question : {"a", "b", "c"}) two.ask(question);
    two.run_until_said(3);
    CHECK(two.server.connections() == 2);
}

TEST_CASE("a question cancelled in flight holds its connection no longer than nobody else needs it") {
    World w;
    w.answers = false;
    const auto first = w.ask("first");
    w.run_until_asked(1);
    w.client->cancel(first);
    SUBCASE("its answer comes, to nobody, and the connection is of use again") {
        w.server.say(0, "action=DUNNO\n\n");
        w.answers = true;
        common::Timer turn(w.loop, [&] { w.loop.stop(); }); // for the answer to be read first
        turn.start(20ms);
        w.loop.run();
        w.ask("second");
        w.run_until_said(1);
        CHECK(w.said == std::vector<std::string>{"second: second"});
    }
    SUBCASE("somebody else asks before that: the connection is given up for a new one") {
        w.answers = true;
        w.ask("second");
        w.run_until_said(1);
        CHECK(w.said == std::vector<std::string>{"second: second"});
        CHECK(w.asked.back().first == 1);
        w.server.closed = [&](std::size_t) { w.loop.stop(); };
        if (w.server.open(0)) w.loop.run();
        CHECK_FALSE(w.server.open(0));
    }
    CHECK(w.logged().find("warning") == std::string::npos);
}

TEST_CASE("a cancelled question that is never answered ends with its time, in silence") {
    World w(1, 50ms);
    w.answers = false;
    w.server.closed = [&](std::size_t) { w.loop.stop(); };
    w.client->cancel(w.ask("never asked")); // on its way, or not yet
    const auto asked = w.ask("first");
    w.client->cancel(asked);
    while (w.server.connections() == 0 || w.server.open(w.server.connections() - 1)) w.loop.run();
    CHECK(w.said.empty());
    CHECK(w.logged().find("warning") == std::string::npos);
}

TEST_CASE("no answer in time is no answer, and the log says so") {
    World w(1, 50ms);
    w.answers = false;
    w.ask("first");
    w.run_until_said(1);
    CHECK(w.said == std::vector<std::string>{"first: none"});
    CHECK(w.logged().find("warning: policy service greylisting: unix:") != std::string::npos);
    CHECK(w.logged().find("no answer in time") != std::string::npos);
    CHECK(w.status.starts_with("policy greylisting: unix:"));
    CHECK(w.status.ends_with("no answer in time; until it answers, mail that it should check is rejected "
                             "temporarily"));
    w.answers = true;
    w.ask("second");
    w.run_until_said(2);
    CHECK(w.status.empty());
}

TEST_CASE("questions that are not answered do not keep others from being asked") {
    World w(2, 1h, 20ms);
    w.server.heard = [&](std::size_t connection, std::string_view bytes) {
        if (bytes.starts_with("good")) w.server.say(connection, "action=DUNNO\n\n");
    };
    for (const char* question : {"hangs a", "hangs b", "hangs c", "hangs d", "hangs e"}) w.ask(question);
    w.ask("good");
    w.run_until_said(5);
    // Those before it had their time, the last two of them have the lines to themselves.
    CHECK(w.said ==
          std::vector<std::string>{"hangs a: none", "hangs b: none", "hangs c: none", "hangs d: none", "good: DUNNO"});
    CHECK(w.logged().find("no answer in time, while further requests are waiting") != std::string::npos);
}

TEST_CASE("a question that nobody waits behind keeps its line") {
    World w(1, 100ms, 1ms);
    w.answers = false;
    w.ask("slow");
    w.run_until_said(1);
    CHECK(w.said == std::vector<std::string>{"slow: none"});
    CHECK(w.logged().find("while further requests are waiting") == std::string::npos);
}

TEST_CASE("a connection that has gone stale costs one more try, a new one none") {
    World w;
    w.ask("first");
    w.run_until_said(1);
    bool hung_up = false;
    w.server.heard = [&](std::size_t connection, std::string_view) {
        if (!std::exchange(hung_up, true)) return w.server.hang_up(connection);
        w.server.say(connection, "action=OK\n\n");
    };
    w.ask("second");
    w.run_until_said(2);
    CHECK(w.said.back() == "second: OK");
    World never;
    never.server.heard = [&](std::size_t connection, std::string_view) { never.server.hang_up(connection); };
    never.ask("first");
    never.run_until_said(1);
    CHECK(never.said == std::vector<std::string>{"first: none"});
    CHECK(never.server.connections() == 1);
}

TEST_CASE("nonsense, and words nobody asked for, end the connection") {
    World w;
    w.answers = false;
    w.server.heard = [&](std::size_t connection, std::string_view) { w.server.say(connection, "what?\n\n"); };
    w.ask("first");
    w.run_until_said(1);
    CHECK(w.said == std::vector<std::string>{"first: none"});
    CHECK(w.logged().find("malformed") != std::string::npos);
    w.server.heard = [&](std::size_t connection, std::string_view) {
        w.server.say(connection, "action=OK\n\naction=REJECT\n\n"); // the second one is nobody's
    };
    w.ask("second");
    w.run_until_said(2);
    CHECK(w.said.back() == "second: none");
}

// Tables that services answer for: several questions, slow ones, those that lie, close, and are gone.
#include "daemons/common/lookup/tables/remote_table.h"
#include "tests/common/net/fake_service.h"
#include "tests/temporary_directory.h"
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <map>

using namespace tables;
using namespace std::chrono_literals;

namespace {

// A table at a service that a test plays. Answers "value of KEY" unless told otherwise.
struct World {
    TemporaryDirectory here;
    common::Loop loop;
    common::Log log{loop, "cleanup"};
    FakeService service{loop, here.path() / "s"};
    std::vector<std::string> asked; // "connection key"
    std::vector<std::string> told;
    std::size_t expected = 1; // of told
    std::unique_ptr<RemoteTable> table;

    explicit World(smtp::Duration timeout = 10s, smtp::Duration contended_timeout = 1s) {
        service.heard = [this](std::size_t connection, std::string_view bytes) {
            asked.push_back(fmt::format("{} {}", connection, bytes.substr(0, bytes.size() - 1)));
            service.say(connection, fmt::format("200 value%20of%20{}\n", bytes.substr(4, bytes.size() - 5)));
        };
        const auto address = common::ServiceAddress::parse("unix:" + (here.path() / "s").string());
        table = std::make_unique<RemoteTable>(
            loop, log, "tcp:t",
            Service{*address, tcp_table::request, tcp_table::parse_reply, timeout, 30s, contended_timeout},
            [this](const std::string& key) {
                told.push_back(key);
                if (told.size() >= expected) loop.stop();
            });
    }
    std::string find(std::string_view key) {
        const auto answer = table->find(key, common::Loop::now());
        switch (answer.status) {
        case Answer::Status::found: return answer.value;
        case Answer::Status::none: return "-";
        case Answer::Status::unavailable: return "!" + answer.why;
        default: return "?";
        }
    }
    // Asked, waited for, found.
    std::string get(const std::string& key) {
        expected = told.size() + 1;
        if (table->ask(key, common::Loop::now())) loop.run();
        return find(key);
    }
};

} // namespace

TEST_CASE("a service is asked over a few connections, each key once, and its answers are kept") {
    World world;
    CHECK(world.find("a") == "?");
    world.expected = 9;
    for (const char* key : {"a", "b", "c", "d", "e", "f", "g", "h", "i", "a"})
        CHECK(world.table->ask(key, common::Loop::now()));
    world.loop.run();
    CHECK(world.told.size() == 9);
    CHECK(world.asked.size() == 9);
    CHECK(world.service.connections() == RemoteTable::most_connections);
    CHECK(world.find("a") == "value of a");
    CHECK(world.find("i") == "value of i");
    CHECK_FALSE(world.table->ask("a", common::Loop::now()));
    CHECK(world.get("j") == "value of j");
    CHECK(world.service.connections() == RemoteTable::most_connections);
}

TEST_CASE("no such key, and a key that the service refuses") {
    World world;
    std::map<std::string, std::string> answers = {
        {"none", "500 no\n"}, {"later", "400 database down\n"}, {"empty", "200 \n"}, {"odd", "200 a%0Ab\n"}};
    world.service.heard = [&](std::size_t connection, std::string_view bytes) {
        world.service.say(connection, answers[std::string(bytes.substr(4, bytes.size() - 5))]);
    };
    CHECK(world.get("none") == "-");
    CHECK(world.get("later") == "!table tcp:t: later: it answered: 400 database down");
    CHECK(world.get("empty") == "!table tcp:t: empty: answers with an empty value");
    CHECK(world.get("odd") == "!table tcp:t: odd: answers with control characters");
    CHECK(world.table->problem() == ""); // the table itself answers
}

TEST_CASE("an answer that comes a byte at a time is one") {
    World world;
    world.service.heard = [&](std::size_t connection, std::string_view) {
        for (const char c : std::string("200 slow\n")) world.service.say(connection, {&c, 1});
    };
    CHECK(world.get("a") == "slow");
}

TEST_CASE("a connection that was closed while idle costs nothing") {
    World world;
    CHECK(world.get("a") == "value of a");
    world.service.hang_up(0);
    CHECK(world.get("b") == "value of b");
    // Closed at the sight of the question: that may be a service that has restarted, too. Once.
    world.service.heard = [&](std::size_t connection, std::string_view bytes) {
        if (connection == 1) return world.service.hang_up(1);
        world.service.say(connection, fmt::format("200 again {}\n", bytes.substr(4, bytes.size() - 5)));
    };
    CHECK(world.get("c") == "again c");
    CHECK(world.service.connections() == 3);
}

TEST_CASE("a key that a service hangs up on, chokes on or keeps still about is unavailable, and no other") {
    World world(200ms);
    const auto usual = world.service.heard;
    std::function<void(std::size_t)> odd;
    SUBCASE("hangs up") {
        odd = [&](std::size_t connection) { world.service.hang_up(connection); };
    }
    SUBCASE("nonsense") {
        odd = [&](std::size_t connection) { world.service.say(connection, "oops\n"); };
    }
    SUBCASE("no answer") {
        odd = [](std::size_t) {};
    }
    world.service.heard = [&](std::size_t connection, std::string_view bytes) {
        if (bytes.starts_with("get odd")) return odd(connection);
        usual(connection, bytes);
    };
    for (const bool used : {false, true}) { // connections that have answered before, or none
        if (used) CHECK(world.get("before") == "value of before");
        world.expected = world.told.size() + 9;
        for (int i = 0; i < 4; ++i) CHECK(world.table->ask(fmt::format("a{}{}", used, i), common::Loop::now()));
        CHECK(world.table->ask(fmt::format("odd{}", used), common::Loop::now()));
        for (int i = 0; i < 4; ++i) CHECK(world.table->ask(fmt::format("b{}{}", used, i), common::Loop::now()));
        world.loop.run();
        CHECK(world.find(fmt::format("odd{}", used)).starts_with(fmt::format("!table tcp:t: odd{}: ", used)));
        for (int i = 0; i < 4; ++i) {
            CHECK(world.find(fmt::format("a{}{}", used, i)) == fmt::format("value of a{}{}", used, i));
            CHECK(world.find(fmt::format("b{}{}", used, i)) == fmt::format("value of b{}{}", used, i));
        }
        CHECK(world.table->problem() == "");
    }
}

TEST_CASE("a service that is gone, mute or mad makes its table unavailable, for a moment") {
    World world(200ms);
    // One question more than a lone odd key may be.
    const auto several = [&] {
        for (unsigned i = 1; i < RemoteTable::max_consecutive_failures; ++i) {
            CHECK(world.get(fmt::format("before {}", i)).starts_with("!table tcp:t: before "));
            CHECK(world.table->problem() == "");
        }
    };
    SUBCASE("gone") {
        std::filesystem::remove(world.here.path() / "s");
        CHECK(world.get("a").find("cannot be reached: no such file or directory") != std::string::npos);
    }
    SUBCASE("mute") {
        world.service.heard = [](std::size_t, std::string_view) {};
        several();
        CHECK(world.get("a") == "!table tcp:t: no answer within 200ms");
    }
    SUBCASE("closes") {
        world.service.heard = [&](std::size_t connection, std::string_view) { world.service.hang_up(connection); };
        several();
        CHECK(world.get("a").find("closed the connection") != std::string::npos);
    }
    SUBCASE("breaks off") {
        world.service.heard = [&](std::size_t connection, std::string_view) {
            world.service.say(connection, "200 val");
            world.service.hang_up(connection);
        };
        several();
        CHECK(world.get("a").find("closed the connection") != std::string::npos);
    }
    SUBCASE("mad") {
        world.service.heard = [&](std::size_t connection, std::string_view) {
            world.service.say(connection, "hello\n");
        };
        several();
        CHECK(world.get("a").find("its answer is \"hello\": expected") != std::string::npos);
    }
    SUBCASE("chatty") {
        world.service.heard = [&](std::size_t connection, std::string_view) {
            world.service.say(connection, "200 a\n200 b\n");
        };
        several();
        CHECK(world.get("a") == "!table tcp:t: unexpected data after its answer");
    }
    // Nobody is asked meanwhile; what is known stays so.
    const auto now = common::Loop::now();
    CHECK(world.table->problem() != "");
    CHECK(world.table->find("other", now).status == Answer::Status::unavailable);
    CHECK_FALSE(world.table->ask("other", now));
    // Not for ever.
    const smtp::Now later{now.monotonic + 31s, now.wall + 31s};
    CHECK(world.table->find("other", later).status == Answer::Status::not_yet);
    if (world.table->problem().find("cannot be reached") != std::string::npos) return;
    world.service.heard = [&](std::size_t connection, std::string_view) {
        world.service.say(connection, "200 well\n");
    };
    world.expected = world.told.size() + 1;
    CHECK(world.table->ask("other", later));
    world.loop.run();
    CHECK(world.find("other") == "well");
    CHECK(world.table->problem() == "");
}

TEST_CASE("keys of one domain that are never answered cost those of others no time") {
    World world(10s, 300ms);
    const auto usual = world.service.heard;
    world.service.heard = [&](std::size_t connection, std::string_view bytes) {
        if (bytes.find("hung") == bytes.npos) usual(connection, bytes);
    };
    CHECK(world.get("ann@good.example") == "value of ann@good.example");
    const auto hung = [](int i) { return fmt::format("k{}@hung.example", i); };
    for (int i = 0; i < 100; ++i) CHECK(world.table->ask(hung(i), common::Loop::now()));
    CHECK(world.table->ask("bob@good.example", common::Loop::now()));
    while (world.find("bob@good.example") == "?") {
        world.expected = world.told.size() + 1;
        world.loop.run();
    }
    CHECK(world.find("bob@good.example") == "value of bob@good.example");
    CHECK(world.table->problem() == "");
    // They are not asked any more, for a moment.
    CHECK(world.find(hung(99)) == "!table tcp:t: keys of hung.example: no answer within 300ms, while other keys wait");
    CHECK_FALSE(world.table->ask(hung(99), common::Loop::now()));
    CHECK(world.asked.size() < 20);
    const auto now = common::Loop::now();
    CHECK(world.table->find(hung(99), {now.monotonic + 31s, now.wall + 31s}).status == Answer::Status::not_yet);
}

TEST_CASE("a service that has answered and falls silent is out of order, whatever the keys") {
    World world(100ms);
    CHECK(world.get("ann@good.example") == "value of ann@good.example");
    world.service.heard = [](std::size_t, std::string_view) {};
    for (int i = 0; i < 8; ++i) world.table->ask(fmt::format("k@d{}.example", i), common::Loop::now());
    while (world.table->problem().empty()) {
        world.expected = world.told.size() + 1;
        world.loop.run();
    }
    CHECK(world.find("other@d9.example") == "!table tcp:t: no answer within 100ms");
}

TEST_CASE("all that wait are told when a service fails") {
    World world(200ms);
    world.service.heard = [](std::size_t, std::string_view) {};
    world.expected = 20;
    for (int i = 0; i < 20; ++i) CHECK(world.table->ask(fmt::format("k{}", i), common::Loop::now()));
    world.loop.run();
    CHECK(world.told.size() == 20);
}

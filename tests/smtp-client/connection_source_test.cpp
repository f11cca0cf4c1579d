// A connection and where it comes from: addresses of a pool that are refused, missing, or of no concern.
#include "tests/smtp-client/world.h"

using namespace smtp_client;
using namespace smtp_client::testing;
using namespace std::chrono_literals;

TEST_CASE("a server that refuses one address of the pool is tried from the next, and that is told") {
    const std::string refusal = "S: 554 5.7.1 Go away\nclose";
    Server server({refusal, hello() + transaction + "S: 250 2.0.0 Ok\nC: QUIT\nclose"});
    World world;
    auto pool = std::make_shared<config::Pool>();
    pool->name = "bulk";
    pool->addresses = {{*common::IpAddress::parse("127.0.0.2"), "two.test", 1000},
                       {*common::IpAddress::parse("127.0.0.3"), "client.test", 1}};
    world.office().pools.emplace("bulk", pool);
    const auto id = world.write("1\r\n");
    delivery::Connect order;
    order.pool = "bulk";
    order.resting = {"127.0.0.3"};
    auto& connection = world.connect({{"127.0.0.1", server.port, 0}}, order);
    world.deliver(id);
    connection.close();
    const auto told = world.run();
    CHECK(told.find("refused 127.0.0.2\nconnected\ndone 1 from 127.0.0.3 0=0:") == 0);
    CHECK(server.problems() == "");
}

TEST_CASE("an address that is not this host's is passed over; a pool that is not there fails the link") {
    Server server({hello() + transaction + "S: 250 2.0.0 Ok\nC: QUIT\nclose"});
    World world;
    auto pool = std::make_shared<config::Pool>();
    pool->name = "bulk";
    pool->addresses = {{*common::IpAddress::parse("192.0.2.77"), "gone.test", 1000},
                       {*common::IpAddress::parse("127.0.0.3"), "client.test", 1}};
    world.office().pools.emplace("bulk", pool);
    const auto id = world.write("1\r\n");
    delivery::Connect order;
    SUBCASE("passed over") {
        order.pool = "bulk";
        order.resting = {"127.0.0.3"}; // so that the other is tried first
        auto& connection = world.connect({{"127.0.0.1", server.port, 0}}, order);
        world.deliver(id);
        connection.close();
        CHECK(world.run().starts_with("refused 192.0.2.77 (ours)\nconnected\ndone 1 from 127.0.0.3"));
        CHECK(server.problems() == "");
    }
    SUBCASE("not there") {
        order.pool = "none";
        auto& connection = world.connect({{"127.0.0.1", server.port, 0}}, order);
        world.deliver(id);
        connection.close();
        CHECK(world.run().find("failed: there is no pool of source addresses \"none\"") != std::string::npos);
    }
}

TEST_CASE("a UNIX socket is reached whatever addresses the pool has") {
    const SilentSocket silent;
    World world;
    auto pool = std::make_shared<config::Pool>();
    pool->name = "bulk";
    world.office().settings.greeting_timeout = 100ms;
    delivery::Connect order;
    order.pool = "bulk";
    SUBCASE("IPv4 alone") { pool->addresses = {{*common::IpAddress::parse("127.0.0.3"), "client.test", 1}}; }
    SUBCASE("IPv6 alone") { pool->addresses = {{*common::IpAddress::parse("::1"), "client.test", 1}}; }
    world.office().pools.emplace("bulk", pool);
    world.connect({{silent.path, 24, 0}}, order);
    world.deliver(world.write("1\r\n"));
    CHECK(world.run().find(silent.timed_out()) != std::string::npos);
}

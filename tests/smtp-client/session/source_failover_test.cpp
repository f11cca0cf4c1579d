// A connection and where it comes from: addresses of a pool that are refused, missing, or of no concern.
#include "tests/smtp-client/session/world.h"

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
    world.context().pools.emplace("bulk", pool);
    const auto id = world.write("1\r\n");
    delivery::Connect order;
    order.pool = "bulk";
    order.resting = {"127.0.0.3"};
    auto& connection = world.connect({{"127.0.0.1", server.port, 0}}, order);
    world.deliver(id);
    connection.close();
    const auto told = world.run();
    CHECK(told.starts_with("refused 127.0.0.2\nconnected\ntaken 127.0.0.3\ndone 1 from 127.0.0.3 0=0:"));
    CHECK(server.problems() == "");
}

TEST_CASE("an address that is not this host's is passed over; a pool that is not there fails the link") {
    Server server({hello() + transaction + "S: 250 2.0.0 Ok\nC: QUIT\nclose"});
    World world;
    auto pool = std::make_shared<config::Pool>();
    pool->name = "bulk";
    pool->addresses = {{*common::IpAddress::parse("192.0.2.77"), "gone.test", 1000},
                       {*common::IpAddress::parse("127.0.0.3"), "client.test", 1}};
    world.context().pools.emplace("bulk", pool);
    const auto id = world.write("1\r\n");
    delivery::Connect order;
    SUBCASE("passed over") {
        order.pool = "bulk";
        order.resting = {"127.0.0.3"}; // so that the other is tried first
        auto& connection = world.connect({{"127.0.0.1", server.port, 0}}, order);
        world.deliver(id);
        connection.close();
        CHECK(world.run().starts_with("refused 192.0.2.77 (ours)\nconnected\ntaken 127.0.0.3\ndone 1 from 127.0.0.3"));
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
    world.context().settings.greeting_timeout = 100ms;
    delivery::Connect order;
    order.pool = "bulk";
    SUBCASE("IPv4 alone") { pool->addresses = {{*common::IpAddress::parse("127.0.0.3"), "client.test", 1}}; }
    SUBCASE("IPv6 alone") { pool->addresses = {{*common::IpAddress::parse("::1"), "client.test", 1}}; }
    world.context().pools.emplace("bulk", pool);
    world.connect({{silent.path, 24, 0}}, order);
    world.deliver(world.write("1\r\n"));
    CHECK(world.run().find(silent.timed_out()) != std::string::npos);
}

namespace {

// Two addresses; the first one is chosen first.
struct TwoAddresses : World {
    TwoAddresses() {
        auto pool = std::make_shared<config::Pool>();
        pool->name = "bulk";
        pool->addresses = {{*common::IpAddress::parse("127.0.0.2"), "client.test", 1000},
                           {*common::IpAddress::parse("127.0.0.3"), "client.test", 1}};
        context().pools.emplace("bulk", pool);
        order.pool = "bulk";
    }
    std::string run_with(const Server& server, int messages = 1, std::vector<std::string> to = {"b@y"}) {
        std::vector<std::uint32_t> recipients(to.size());
        for (std::uint32_t n = 0; n < recipients.size(); ++n) recipients[n] = n;
        auto& connection = connect({{"127.0.0.1", server.port, 0}}, order);
        for (int n = 0; n < messages; ++n) deliver(write("1\r\n", to), recipients);
        connection.close();
        return run();
    }
    delivery::Connect order;
};

const std::string plain = hello("S: 250 mx.test\n"), piped = hello();
const std::string listed = "554 5.7.1 Service unavailable; Client host [127.0.0.2] blocked using zen.spamhaus.org";
const std::string taken = piped + transaction + "S: 250 2.0.0 Ok\n";

} // namespace

TEST_CASE("mail that is refused because of the address it comes from goes from the pool's next one") {
    TwoAddresses world;
    std::string refusal;
    SUBCASE("at MAIL") { refusal = plain + "C: MAIL FROM:<a@x>\nS: " + listed + "\nC: QUIT\nclose"; }
    SUBCASE("at RCPT") {
        refusal = plain + "C: MAIL FROM:<a@x>\nS: 250 Ok\nC: RCPT TO:<b@y>\nS: " + listed + "\nC: QUIT\nclose";
    }
    SUBCASE("for the moment") {
        refusal = plain + "C: MAIL FROM:<a@x>\nS: 451 4.7.1 127.0.0.2 is listed\nC: QUIT\nclose";
    }
    SUBCASE("at DATA") {
        refusal = piped + "C: MAIL FROM:<a@x>\nC: RCPT TO:<b@y>\nC: DATA\nS: 250 Ok\nS: 250 Ok\nS: " + listed +
                  "\nC: QUIT\nclose";
    }
    SUBCASE("at the end of the message") { refusal = piped + transaction + "S: " + listed + "\nC: QUIT\nclose"; }
    SUBCASE("with the connection") { refusal = plain + "C: MAIL FROM:<a@x>\nS: 421 4.7.0 127.0.0.2 is listed\nclose"; }
    Server server({refusal, taken + "C: QUIT\nclose"});
    const auto told = world.run_with(server);
    CHECK(told.starts_with("connected\nrefused 127.0.0.2 (mail)\ndone 1 from 127.0.0.3 0=0:250 2.0.0 Ok\nclosed\n"));
    CHECK(server.problems() == "");
    const auto log = world.log_text();
    CHECK(log.find("; this concerns 127.0.0.2 (") != std::string::npos);
    CHECK(log.find("; trying again from 127.0.0.3") != std::string::npos);
    CHECK(log.find("status=bounced") == std::string::npos);
    CHECK(log.find("conn_use=2") == std::string::npos);
}

TEST_CASE("those behind it go from there, too") {
    // The second one's commands are under way when the first one's content is refused.
    Server server(
        {piped + transaction + "S: " + listed + "\nC: <end>", taken + transaction + "S: 250 2.0.0 Ok\nC: QUIT\nclose"});
    TwoAddresses world;
    const auto told = world.run_with(server, 2);
    CHECK(told.starts_with("connected\nrefused 127.0.0.2 (mail)\ndone 1 from 127.0.0.3 0=0:250 2.0.0 Ok\n"
                           "done 2 from 127.0.0.3 0=0:250 2.0.0 Ok\nclosed\n"));
    CHECK(server.received.size() == 3 * std::string("1\r\n.\r\n").size());
}

TEST_CASE("where every other address rests, the server's word is the verdict") {
    TwoAddresses world;
    const auto refusal = plain + "C: MAIL FROM:<a@x>\nS: " + listed + "\nC: QUIT\nclose";
    SUBCASE("it is the last one") {
        world.order.resting = {"127.0.0.3"};
        Server server({refusal});
        const auto told = world.run_with(server);
        CHECK(
            told.starts_with("connected\nrefused 127.0.0.2 (mail)\ndone 1 from 127.0.0.2 0=2:host 127.0.0.1[127.0.0.1] "
                             "said: 554 5.7.1 Service"));
        CHECK(server.problems() == "");
        CHECK(world.log_text().find("and all other usable addresses of the pool bulk are backing off") !=
              std::string::npos);
    }
    SUBCASE("it is refused, too") {
        Server server({refusal, plain + "C: MAIL FROM:<a@x>\nS: 550 5.7.1 Your IP is blacklisted\nC: QUIT\nclose"});
        const auto told = world.run_with(server);
        CHECK(told.starts_with("connected\nrefused 127.0.0.2 (mail)\nrefused 127.0.0.3 (mail)\n"
                               "done 1 from 127.0.0.3 0=2:host 127.0.0.1[127.0.0.1] said: 550 5.7.1 Your IP"));
        CHECK(server.problems() == "");
    }
    SUBCASE("one rests, and its mail is taken") {
        world.order.resting = {"127.0.0.2", "127.0.0.3"};
        Server server({taken + "C: QUIT\nclose"});
        CHECK(
            world.run_with(server).starts_with("connected\ntaken 127.0.0.2\ndone 1 from 127.0.0.2 0=0:250 2.0.0 Ok\n"));
    }
}

TEST_CASE("who has the mail does not get it again: the others wait") {
    Server server({plain + "C: MAIL FROM:<a@x>\nS: 250 Ok\nC: RCPT TO:<b@y>\nS: 250 Ok\nC: RCPT TO:<c@y>\nS: " +
                   listed + "\nC: DATA\nS: 354 Go\nC: <message>\nS: 250 2.0.0 Ok\nC: QUIT\nclose"});
    TwoAddresses world;
    const auto told = world.run_with(server, 1, {"b@y", "c@y"});
    CHECK(told.starts_with("connected\nrefused 127.0.0.2 (mail)\ndone 1 from 127.0.0.2 0=0:250 2.0.0 Ok 1=1:host"));
    CHECK(world.log_text().find("; trying again later from 127.0.0.3") != std::string::npos);
    CHECK(server.problems() == "");
}

TEST_CASE("refusals of something else, and mail without a pool, stay as they are") {
    TwoAddresses world;
    const auto refusal = [](std::string_view with) {
        return plain + "C: MAIL FROM:<a@x>\nS: 250 Ok\nC: RCPT TO:<b@y>\nS: " + std::string(with) + "\nC: QUIT\nclose";
    };
    SUBCASE("relaying") {
        Server server({refusal("554 5.7.1 <b@y>: Relay access denied")});
        CHECK(world.run_with(server).starts_with("connected\ndone 1 from 127.0.0.2 0=2:"));
    }
    SUBCASE("no pool") {
        world.order.pool.clear();
        Server server({refusal(listed)});
        CHECK(world.run_with(server).starts_with("connected\ndone 1 0=2:"));
    }
}

TEST_CASE("greylisted mail comes from the address that it was put off at, each message from its own") {
    Server server({hello() + transaction + "S: 250 2.0.0 first\nC: QUIT\nclose",
                   hello() + transaction + "S: 250 2.0.0 second\nC: QUIT\nclose"});
    World world;
    auto pool = std::make_shared<config::Pool>();
    pool->name = "bulk";
    pool->addresses = {{*common::IpAddress::parse("127.0.0.2"), "client.test", 1'000'000},
                       {*common::IpAddress::parse("127.0.0.3"), "client.test", 1},
                       {*common::IpAddress::parse("127.0.0.4"), "client.test", 1}};
    world.context().pools.emplace("bulk", pool);
    const auto put_off = [&](spool::QueueId id, std::string source) {
        spool::Attempt attempt;
        attempt.recipients = {0};
        attempt.reply = {.code = 451, .status = "4.7.1", .text = "Greylisted, come back later"};
        attempt.source = std::move(source);
        world.record(id, std::move(attempt));
    };
    const auto first = world.write("1\r\n"), second = world.write("2\r\n");
    put_off(first, "127.0.0.3");
    put_off(second, "127.0.0.4");
    delivery::Connect order;
    order.pool = "bulk";
    SUBCASE("both at once") {
        auto& connection = world.connect({{"127.0.0.1", server.port, 0}}, order);
        world.deliver(first);
        world.deliver(second);
        connection.close();
        const auto told = world.run();
        CHECK(told.find("done 1 from 127.0.0.3 0=0:250 2.0.0 first") != std::string::npos);
        CHECK(told.find("done 2 from 127.0.0.4 0=0:250 2.0.0 second") != std::string::npos);
        CHECK(server.problems() == "");
        CHECK(world.log_text().find(
                  "was deferred when sent from 127.0.0.4; trying that address again instead of 127.0.0.3") !=
              std::string::npos);
    }
    SUBCASE("unless that address rests") {
        order.resting = {"127.0.0.3"};
        auto& connection = world.connect({{"127.0.0.1", server.port, 0}}, order);
        world.deliver(first);
        connection.close();
        CHECK(world.run().find("done 1 from 127.0.0.2 ") != std::string::npos);
    }
}

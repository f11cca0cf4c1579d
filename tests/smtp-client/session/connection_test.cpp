// A connection and its deliveries: one behind the other, at the next host, in doubt, without the means.
#include "tests/smtp-client/session/world.h"
#include <cstdlib>
#include <fcntl.h>
#include <sys/resource.h>

using namespace smtp_client;
using namespace smtp_client::testing;
using namespace std::chrono_literals;

TEST_CASE("deliveries go one behind the other over one connection") {
    Server server({hello() + transaction + "C: MAIL FROM:<a@x>\nC: RCPT TO:<b@y>\nC: RCPT TO:<c@y>\nC: DATA\n" +
                   "S: 250 2.0.0 Ok: queued as 1\nS: 250 Ok\nS: 550 5.1.1 No\nS: 250 Ok\nS: 354 Go\nC: <message>\n"
                   "S: 250 2.0.0 Ok: queued as 2\nC: QUIT\nclose"});
    World world;
    const auto first = world.write("Subject: 1\r\n\r\n.\r\n"), second = world.write("2\r\n", {"b@y", "c@y"});
    auto& connection = world.connect({{"127.0.0.1", server.port, 0}});
    world.deliver(first);
    world.deliver(second, {0, 1});
    connection.close();
    const auto peer = "127.0.0.1[127.0.0.1]";
    CHECK(world.run() ==
          std::string("connected\ndone 1 0=0:250 2.0.0 Ok: queued as 1\ndone 2 0=2:host ") + peer +
              " said: 550 5.1.1 No (in reply to RCPT TO command) 1=0:250 2.0.0 Ok: queued as 2\nclosed\n");
    CHECK(server.problems() == "");
    CHECK(server.received == "Subject: 1\r\n\r\n..\r\n.\r\n2\r\n.\r\n");
    const auto log = world.log_text();
    const auto relay = std::string(peer) + ":" + std::to_string(server.port);
    CHECK(log.find(first.text() + ": to=<b@y>, relay=" + relay + ", delay=0") != log.npos);
    CHECK(log.find(", dsn=2.0.0, status=sent (250 2.0.0 Ok: queued as 1)") != log.npos);
    CHECK(log.find(second.text() + ": to=<b@y>, relay=" + relay + ", conn_use=2, delay=0") != log.npos);
    CHECK(log.find("dsn=5.1.1, status=bounced (host " + std::string(peer) + " said: 550 5.1.1 No") != log.npos);
}

TEST_CASE("a large message goes out piece by piece") {
    Server server({hello() + transaction + "S: 250 2.0.0 Ok\nC: QUIT\nclose"});
    World world;
    std::string content = "Subject: large\r\n\r\n";
    for (int i = 0; i < 50'000; ++i) content += "line " + std::to_string(i) + " of a message that is large\r\n";
    auto& connection = world.connect({{"127.0.0.1", server.port, 0}});
    world.deliver(world.write(content));
    connection.close();
    CHECK(world.run() == "connected\ndone 1 0=0:250 2.0.0 Ok\nclosed\n");
    CHECK(server.problems() == "");
    CHECK(server.received == content + ".\r\n");
}

TEST_CASE("nobody answers: the link failed, and the message tried says so") {
    World world;
    const auto port = closed_port();
    const auto id = world.write("x\r\n");
    world.connect({{"127.0.0.1", port, 0}});
    world.deliver(id);
    world.deliver(world.write("y\r\n"));
    const auto reason = "connect to 127.0.0.1[127.0.0.1]:" + std::to_string(port) + ": Connection refused";
    CHECK(world.run() == "failed: " + reason + "\n");
    const auto log = world.log_text();
    CHECK(log.find(id.text() + ": to=<b@y>, relay=none, delay=0") != log.npos);
    CHECK(log.find("dsn=4.4.1, status=deferred (" + reason + ")") != log.npos);
}

TEST_CASE("an address without room: the next equal is taken, a worse preference is not") {
    const auto script = hello() + transaction + "S: 250 2.0.0 Ok\nC: QUIT\nclose";
    const auto address_of = [](const Server& server) { return "127.0.0.1:" + std::to_string(server.port); };
    SUBCASE("an equal has room") {
        Server full({}), equal({script});
        World world;
        world.crowded = {address_of(full)};
        auto& connection = world.connect({{"127.0.0.1", full.port, 10}, {"127.0.0.1", equal.port, 10}});
        world.deliver(world.write("x\r\n"));
        connection.close();
        CHECK(world.run().ends_with("connected\ndone 1 0=0:250 2.0.0 Ok\nclosed\n"));
        CHECK(equal.problems() == "");
    }
    SUBCASE("only the backup has room: that is for when the better one fails") {
        Server full({}), backup({});
        World world;
        world.crowded = {address_of(full)};
        world.connect({{"127.0.0.1", full.port, 10}, {"127.0.0.1", backup.port, 20}});
        const auto id = world.write("x\r\n");
        world.deliver(id);
        CHECK(world.run() == "no room at " + address_of(full) + "\ncrowded\n");
        CHECK(world.log_text().find(id.text()) == std::string::npos); // it was not tried
    }
    SUBCASE("one is down, its equal has no room: no failure of the link") {
        Server full({});
        const auto port = closed_port();
        World world;
        world.crowded = {address_of(full)};
        world.connect({{"127.0.0.1", full.port, 10}, {"127.0.0.1", port, 10}});
        world.deliver(world.write("x\r\n"));
        CHECK(world.run().ends_with("crowded\n"));
    }
}

TEST_CASE("another host is tried until the message itself has been refused") {
    for (const std::string& mishap :
         {std::string("S: 554 5.7.1 Not you\nC: QUIT\nclose"), std::string("close"),
          hello("S: 421 4.3.2 Later\n") + "C: QUIT\nclose",
          hello() + "C: MAIL\nC: RCPT\nC: DATA\nS: 421 4.3.2 Later\nclose",
          hello() + "C: MAIL\nC: RCPT\nC: DATA\nS: 250 Ok\nS: 421 4.3.2 Later\nclose",
          hello() + "C: MAIL\nC: RCPT\nC: DATA\nS: 250 Ok\nS: 250 Ok\nS: 421 4.3.2 Later\nclose"}) {
        CAPTURE(mishap);
        Server bad({mishap}), good({hello() + transaction + "S: 250 2.0.0 Ok\nC: QUIT\nclose"});
        World world;
        auto& connection = world.connect({{"127.0.0.1", good.port, 20}, {"127.0.0.1", bad.port, 10}});
        world.deliver(world.write("x\r\n"));
        connection.close();
        const auto told = world.run();
        CHECK(told.ends_with("connected\ndone 1 0=0:250 2.0.0 Ok\nclosed\n"));
        CHECK(good.problems() == "");
        CHECK(bad.problems() == "");
    }
}

TEST_CASE("nobody is left to permit a further address: it ends") {
    Server first({hello() + "C: MAIL FROM:<a@x>\nS: 421 4.3.2 Going down\nclose"}), second({});
    World world;
    world.unasked = "127.0.0.1:" + std::to_string(second.port);
    world.connect({{"127.0.0.1", first.port, 10}, {"127.0.0.1", second.port, 20}});
    world.deliver(world.write("x\r\n"));
    CHECK(world.run() == "connected\nclosed\n");
}

TEST_CASE("push-back, and failures of the message, do not send it round the hosts") {
    struct Case {
        std::string script, told;
    };
    const std::string peer = "127.0.0.1[127.0.0.1]";
    for (const auto& [script, told] :
         {Case{hello() + "C: MAIL\nC: RCPT\nC: DATA\nS: 421 4.7.0 Slow\nclose",
               "failed: host " + peer + " said: 421 4.7.0 Slow (in reply to MAIL FROM command)\n"},
          Case{hello() + transaction + "close",
               "done 1 0=1:lost connection with " + peer +
                   " while sending end of data -- message may be sent more than once (in doubt)\nfailed: lost "
                   "connection with " +
                   peer + " while sending end of data -- message may be sent more than once\n"},
          Case{hello() + "C: MAIL\nC: RCPT\nC: DATA\nS: 250 Ok\nS: 250 Ok\nclose",
               "done 1 0=1:lost connection with " + peer +
                   " while sending DATA command\nfailed: lost connection with " + peer +
                   " while sending DATA command\n"}}) {
        CAPTURE(script);
        Server bad({script}), never({});
        World world;
        world.connect({{"127.0.0.1", never.port, 20}, {"127.0.0.1", bad.port, 10}});
        world.deliver(world.write("x\r\n"));
        CHECK(world.run() == "connected\n" + told);
        CHECK(bad.problems() == "");
    }
}

TEST_CASE("a session that had accepted MAIL is no failed link when no host is left") {
    Server server({hello() + "C: MAIL\nC: RCPT\nC: DATA\nS: 250 Ok\nclose"});
    World world;
    world.connect({{"127.0.0.1", server.port, 0}});
    world.deliver(world.write("x\r\n"));
    const std::string why = "lost connection with 127.0.0.1[127.0.0.1] while sending RCPT TO";
    CHECK(world.run() == "connected\ndone 1 0=1:" + why + "\nfailed: " + why + "\n");
}

TEST_CASE("replies out of step: without pipelining the next time") {
    Server server({hello() + "C: MAIL\nC: RCPT\nC: DATA\nS: 250 Ok\nS: 250 Ok\nS: 250 Ok\nC: <end>",
                   hello() + "C: MAIL FROM:<a@x>\nS: 250 Ok\nC: RCPT TO:<b@y>\nS: 250 Ok\nC: DATA\nS: 354 Go\nC: "
                             "<message>\nS: 250 2.0.0 Ok\nC: QUIT\nclose"});
    World world;
    const auto id = world.write("x\r\n");
    world.connect({{"127.0.0.1", server.port, 0}});
    world.deliver(id);
    const auto told = world.run();
    CHECK(told.find("done 1 0=1:protocol error from") != told.npos);
    world.told.clear();
    auto& connection = world.connect({{"127.0.0.1", server.port, 0}});
    world.deliver(id);
    connection.close();
    CHECK(world.run() == "connected\ndone 2 0=0:250 2.0.0 Ok\nclosed\n");
    CHECK(server.problems() == "");
}

TEST_CASE("BDAT that a server offers and cannot do: the same address again, with DATA") {
    const std::string chunking = "S: 220 mx.test\nC: EHLO\nS: 250-mx.test\nS: 250-PIPELINING\nS: 250 CHUNKING\n";
    const std::string flight = chunking + "C: MAIL FROM:<a@x>\nC: RCPT TO:<b@y>\nC: BDAT 3 LAST\nC: x\n";
    const std::string by_data = chunking + "C: MAIL FROM:<a@x>\nC: RCPT TO:<b@y>\nC: DATA\nS: 250 Ok\nS: 250 Ok\n"
                                           "S: 354 Go\nC: <message>\nS: 250 2.0.0 Ok\nC: QUIT\nclose";
    Server server({flight + "S: 250 Ok\nS: 250 Ok\nS: 502 5.5.1 What?\nC: <end>", by_data, by_data});
    World world;
    const auto id = world.write("x\r\n");
    auto& connection = world.connect({{"127.0.0.1", server.port, 0}});
    world.deliver(id);
    connection.close();
    CHECK(world.run() == "connected\ndone 1 0=0:250 2.0.0 Ok\nclosed\n");
    world.told.clear();
    auto& later = world.connect({{"127.0.0.1", server.port, 0}}); // and it is remembered
    world.deliver(id);
    later.close();
    CHECK(world.run() == "connected\ndone 2 0=0:250 2.0.0 Ok\nclosed\n");
    CHECK(server.problems() == "");
    CHECK(server.received == "x\r\n.\r\nx\r\n.\r\n");
}

TEST_CASE("what an address refuses only until it is tried in another way does not speak for the destination") {
    Server server({"S: 220 mx.test\nC: EHLO\nS: 250-mx.test\nS: 250-PIPELINING\nS: 250 CHUNKING\n"
                   "C: MAIL FROM:<a@x>\nC: RCPT TO:<b@y>\nC: BDAT 3 LAST\nC: x\nS: 250 Ok\nS: 250 Ok\n"
                   "S: 502 5.5.1 What?\nC: <end>",
                   "close"});
    Server relay({hello() + transaction + "S: 250 2.0.0 Ok\nC: QUIT\nclose"});
    World world;
    auto& connection =
        world.connect({{"127.0.0.1", server.port, 0}, {"127.0.0.1", relay.port, 0, 0, decide::Tier::fallback}});
    world.deliver(world.write("x\r\n"));
    connection.close();
    CHECK(world.run() == "connected\ndone 1 0=0:250 2.0.0 Ok\nclosed\n");
    CHECK(server.problems() == "");
    CHECK(relay.problems() == "");
}

TEST_CASE("lost behind BDAT: in doubt, and no other host is tried") {
    const std::string chunking = "S: 220 mx.test\nC: EHLO\nS: 250-mx.test\nS: 250-PIPELINING\nS: 250 CHUNKING\n";
    Server server({chunking + "C: MAIL FROM:<a@x>\nC: RCPT TO:<b@y>\nC: BDAT 3 LAST\nC: x\nS: 250 Ok\nclose"});
    Server other({});
    World world;
    const auto id = world.write("x\r\n");
    world.connect({{"127.0.0.1", server.port, 0}, {"127.0.0.1", other.port, 10}});
    world.deliver(id);
    const std::string why =
        "lost connection with 127.0.0.1[127.0.0.1] while sending end of data -- message may be sent more than once";
    CHECK(world.run() == "connected\ndone 1 0=1:" + why + " (in doubt)\nfailed: " + why + "\n");
    CHECK(server.problems() == "");
}

TEST_CASE("a message that cannot be read is not sent, and others are") {
    World world;
    const auto gone = world.write("x\r\n"), damaged = world.write("Subject: y\r\n\r\nwhole\r\n"),
               whole = world.write("z\r\n");
    std::filesystem::remove(world.path(gone));
    {
        std::fstream file(world.path(damaged), std::ios::in | std::ios::out | std::ios::binary);
        std::stringstream text;
        text << file.rdbuf();
        const auto at = text.str().find("whole");
        REQUIRE(at != std::string::npos);
        file.seekp(static_cast<std::streamoff>(at));
        file << "wrong";
    }
    Server server({hello() + transaction + "S: 250 2.0.0 Ok\nC: QUIT\nclose"});
    auto& connection = world.connect({{"127.0.0.1", server.port, 0}});
    world.deliver(gone);
    world.deliver(damaged);
    world.deliver(whole);
    connection.close();
    CHECK(world.run() == "connected\ndone 1 gone 0=1:open incoming/01/00000100000001: No such file or directory\n"
                         "done 2 unreadable\ndone 3 0=0:250 2.0.0 Ok\nclosed\n");
    CHECK(server.problems() == "");
    CHECK(server.received == "z\r\n.\r\n");
}

namespace {
// As many descriptors as are open now, and `more`.
class FewDescriptors {
public:
    explicit FewDescriptors(int more) {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        const common::Fd next(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        rlimit few = before_;
        few.rlim_cur = static_cast<rlim_t>(next.number() + more);
        REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
    }
    void end() { ::setrlimit(RLIMIT_NOFILE, &before_); }
    ~FewDescriptors() { end(); }

private:
    rlimit before_;
};
} // namespace

TEST_CASE("no descriptor for a connection: it waits, and no address is to blame") {
    Server server({hello() + transaction + "S: 250 2.0.0 Ok\nC: QUIT\nclose"});
    World world;
    const auto id = world.write("x\r\n");
    auto& connection = world.connect({{"127.0.0.1", server.port, 0}});
    world.deliver(id);
    connection.close();
    FewDescriptors few(0);
    world.once_logged("socket: Too many open files: deliveries wait", [&] { few.end(); });
    CHECK(world.run() == "connected\ndone 1 0=0:250 2.0.0 Ok\nclosed\n");
    CHECK(server.problems() == "");
    CHECK(world.log_text().find("deferred") == std::string::npos);
}

TEST_CASE("no descriptor for a message: it goes back untried, and the connection's own is given up") {
    Server server({hello() + "C: QUIT\nclose"});
    World world;
    const auto id = world.write("x\r\n");
    auto& connection = world.connect({{"127.0.0.1", server.port, 0}});
    std::optional<FewDescriptors> few;
    world.on_connected = [&] { few.emplace(0); };
    world.deliver(id);
    CHECK(world.run() == "connected\nclosed\n");
    few.reset();
    CHECK(server.problems() == "");
    CHECK(world.log_text().find("Too many open files: deliveries wait") != std::string::npos);
    static_cast<void>(connection);
}

TEST_CASE("a large message found damaged on the way is never ended by a dot") {
    World world;
    std::string content;
    for (int i = 0; i < 100'000; ++i) content += "line " + std::to_string(i) + "\r\n";
    const auto id = world.write(content);
    {
        std::fstream file(world.path(id), std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(900'000);
        file << "X";
    }
    Server server({hello() + "C: MAIL\nC: RCPT\nC: DATA\nS: 250 Ok\nS: 250 Ok\nS: 354 Go\nC: <end>"});
    world.connect({{"127.0.0.1", server.port, 0}});
    world.deliver(id);
    CHECK(world.run() == "connected\ndone 1 unreadable\nclosed\n");
}

TEST_CASE("closed without need, idle, or by the peer between deliveries: in good order") {
    {
        World world;
        Server server({hello() + "C: QUIT\nclose"});
        auto& connection = world.connect({{"127.0.0.1", server.port, 0}});
        world.on_connected = [&] { connection.close(); };
        CHECK(world.run() == "connected\nclosed\n");
        CHECK(server.problems() == "");
    }
    {
        World world;
        Server server({hello() + "S: 421 4.4.2 Idle\nclose"});
        world.connect({{"127.0.0.1", server.port, 0}});
        CHECK(world.run() == "connected\nclosed\n");
    }
}

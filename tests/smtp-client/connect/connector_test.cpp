// From hosts to a connection: the order of hosts, the bound, races between addresses, and what the
// queue-manager is asked and told meanwhile. Real sockets on loopback; an address that stays silent is one whose
// backlog is full.
#include "daemons/smtp-client/connect/connector.h"
#include "libspool/disk/real_disk.h"
#include "tests/common/net/dns/name_server.h"
#include "tests/temporary_directory.h"
#include <cstring>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <set>
#include <sys/socket.h>

using namespace smtp_client;
using namespace std::chrono_literals;
using decide::Tier;

namespace {

// A server that takes connections, or, silent, leaves them hanging.
class Listener {
public:
    enum class Manner { open, silent };
    explicit Listener(const std::string& address, std::uint16_t port = 0, Manner manner = Manner::open)
        : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in in{};
        in.sin_family = AF_INET;
        in.sin_port = htons(port);
        REQUIRE(::inet_pton(AF_INET, address.c_str(), &in.sin_addr) == 1);
        const int on = 1;
        ::setsockopt(fd_.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        REQUIRE(::bind(fd_.number(), reinterpret_cast<sockaddr*>(&in), sizeof in) == 0);
        REQUIRE(::listen(fd_.number(), manner == Manner::open ? 16 : 0) == 0);
        socklen_t size = sizeof in;
        ::getsockname(fd_.number(), reinterpret_cast<sockaddr*>(&in), &size);
        this->port = ntohs(in.sin_port);
        if (manner == Manner::open) return;
        common::Fd first(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        REQUIRE(::connect(first.number(), reinterpret_cast<sockaddr*>(&in), sizeof in) == 0); // it is full now
        callers_.push_back(std::move(first));
    }
    std::uint16_t port = 0;

private:
    common::Fd fd_;
    std::vector<common::Fd> callers_;
};

std::string address(std::string_view dotted) { // as in an A record
    std::string out(4, '\0');
    REQUIRE(::inet_pton(AF_INET, std::string(dotted).c_str(), out.data()) == 1);
    return out;
}

struct Caller : Connector::Owner {
    Caller() {
        auto opened = spool::RealDisk::open_at(directory.path());
        REQUIRE(opened);
        disk = *std::move(opened);
        names.behave = [this](packet::Message& m) {
            asked_names.insert(m.question);
            if (m.type == 1)
                for (const auto& each : a[m.question]) m.answer(packet::a(m.question, 300, address(each)));
            if (m.type == 28 && late_aaaa) return std::string();
            return m.authority(packet::soa("test", 60, 60)).bytes();
        };
        config::SmtpClient settings;
        settings.connection_attempt_delay = 10ms;
        context.emplace(ClientContext{loop,
                                      log,
                                      deadlines,
                                      *disk,
                                      1,
                                      settings,
                                      std::make_shared<dns::Resolver>(loop, names.settings()),
                                      {},
                                      std::mt19937(seed++),
                                      0});
    }
    // Until it is reached or nobody is left; everything that was said.
    std::string connector(std::vector<proto::route::Host> hosts) {
        connector_.emplace(*context, *this, hosts);
        return go_on();
    }
    std::string go_on() {
        said.clear();
        connector_->next();
        return run();
    }
    std::string run() {
        common::Timer patience(loop, [this] { say("nothing happens"); });
        patience.start(20s);
        while (!done) loop.run();
        done = false;
        return said;
    }
    void say(const std::string& what) {
        said += what;
        done = true;
        loop.stop();
    }

    void request_permission(const std::string& where, ConnectMode mode) override {
        said += (mode == ConnectMode::parallel ? "besides " : "ask ") + where + "\n";
        if (full.contains(where)) said += "no room\n";
        connector_->permit(!full.contains(where));
    }
    void released(const std::string& where) override { said += "left " + where + "\n"; }
    void unreachable(const Candidate& candidate, int error) override {
        said += candidate.relay() + ": " + std::strerror(error) + "\n";
    }
    void looked_up(const std::string&, dns::Type, const dns::Answer&) override {}
    void no_address(const std::string& status, const std::string&) override { said += status + "\n"; }
    void reached(const Candidate& candidate, std::unique_ptr<TlsStream> reached) override {
        stream = std::move(reached);
        say("reached " + candidate.relay() + "\n");
    }
    void out_of_addresses(End end) override { say(end == End::at_limit ? "crowded\n" : "exhausted\n"); }
    void readable() override {}
    void writable() override {}

    static inline std::uint32_t seed = 1;
    TemporaryDirectory directory;
    common::Loop loop;
    NameServer names{loop};
    common::Log log{loop, "smtp"};
    common::LoopDeadlines deadlines{loop};
    std::unique_ptr<spool::RealDisk> disk;
    std::optional<ClientContext> context;
    std::map<std::string, std::vector<std::string>> a; // A records
    std::set<std::string> full, asked_names;
    bool late_aaaa = false, done = false;
    std::string said;
    std::unique_ptr<TlsStream> stream;
    std::optional<Connector> connector_;
};

proto::route::Host host(std::string name, std::uint16_t port, std::uint16_t preference, Tier tier = Tier::first) {
    return {std::move(name), port, preference, 0, tier, false};
}
std::size_t count(const std::string& text, std::string_view part) {
    std::size_t n = 0;
    for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
    return n;
}
std::string colon(std::uint16_t port) { return ":" + std::to_string(port); }

} // namespace

TEST_CASE("hosts by preference, equals in any order") {
    std::set<std::string> first;
    for (int i = 0; i < 20 && first.size() < 2; ++i) {
        Caller caller;
        Listener worst("127.0.0.3"), one("127.0.0.1"), other("127.0.0.2");
        const auto said = caller.connector(
            {host("127.0.0.3", worst.port, 20), host("127.0.0.1", one.port, 10), host("127.0.0.2", other.port, 10)});
        const auto was_one = said.find("reached 127.0.0.1") != said.npos;
        CHECK((was_one || said.find("reached 127.0.0.2") != said.npos));
        first.insert(was_one ? "one" : "other");
        const auto then = caller.go_on();
        CHECK(then.find(was_one ? "reached 127.0.0.2" : "reached 127.0.0.1") != then.npos);
        CHECK(then.starts_with(was_one ? "left 127.0.0.1" : "left 127.0.0.2"));
        const auto last = caller.go_on();
        CHECK(last.find("reached 127.0.0.3") != last.npos);
        CHECK(caller.go_on().ends_with("exhausted\n"));
    }
    CHECK(first.size() == 2);
}

TEST_CASE("while an address is silent its host's next one is tried beside it; who loses is let go") {
    Caller caller;
    Listener silent("127.0.0.1", 0, Listener::Manner::silent), quick("127.0.0.2", silent.port);
    // The silent one first, whatever order chance gives the two.
    caller.a["mx.test"] = {"127.0.0.1"};
    caller.a["second.test"] = {"127.0.0.2"};
    const auto port = silent.port;
    SUBCASE("another host is no part of the race: preference counts, and its time has not come") {
        caller.context->settings.connect_timeout = 300ms;
        const auto said = caller.connector({host("mx.test", port, 10), host("second.test", port, 20)});
        CHECK(said == "ask 127.0.0.1" + colon(port) + "\nleft 127.0.0.1" + colon(port) + "\nmx.test[127.0.0.1]" +
                          colon(port) + ": Connection timed out\nask 127.0.0.2" + colon(port) +
                          "\nreached second.test[127.0.0.2]" + colon(port) + "\n");
        const auto now = common::Loop::now().monotonic;
        CHECK(caller.context->peer_history.failed_lately(*common::IpAddress::parse("127.0.0.1"), now));
    }
    SUBCASE("two addresses of a host race") {
        caller.a["mx.test"] = {"127.0.0.1", "127.0.0.2"};
        bool raced = false;
        for (int i = 0; i < 40 && !raced; ++i) {
            const auto said = caller.connector({host("mx.test", port, 10)});
            CHECK(said.ends_with("reached mx.test[127.0.0.2]" + colon(port) + "\n"));
            raced = said.starts_with("ask 127.0.0.1");
            if (!raced) continue;
            CHECK(said == "ask 127.0.0.1" + colon(port) + "\nbesides 127.0.0.2" + colon(port) + "\nleft 127.0.0.1" +
                              colon(port) + "\nreached mx.test[127.0.0.2]" + colon(port) + "\n");
            // It lost; it has not failed.
            const auto now = common::Loop::now().monotonic;
            CHECK_FALSE(caller.context->peer_history.failed_lately(*common::IpAddress::parse("127.0.0.1"), now));
            // What was reached is of no use: the loser has its turn after all.
            caller.context->settings.connect_timeout = 100ms;
            CHECK(caller.go_on() == "left 127.0.0.2" + colon(port) + "\nask 127.0.0.1" + colon(port) +
                                        "\nleft 127.0.0.1" + colon(port) + "\nmx.test[127.0.0.1]" + colon(port) +
                                        ": Connection timed out\nexhausted\n");
        }
        CHECK(raced);
    }
    SUBCASE("there is no room for a second one: the first goes on alone, then it is asked about for good") {
        caller.context->settings.connect_timeout = 200ms;
        caller.a["mx.test"] = {"127.0.0.1", "127.0.0.2"};
        caller.full = {"127.0.0.2" + colon(port)};
        bool raced = false;
        for (int i = 0; i < 40 && !raced; ++i) {
            caller.context->peer_history = {};
            const auto said = caller.connector({host("mx.test", port, 10)});
            raced = said.starts_with("ask 127.0.0.1");
            if (!raced) continue;
            CHECK(said == "ask 127.0.0.1" + colon(port) + "\nbesides 127.0.0.2" + colon(port) +
                              "\nno room\nleft 127.0.0.1" + colon(port) + "\nmx.test[127.0.0.1]" + colon(port) +
                              ": Connection timed out\nask 127.0.0.2" + colon(port) + "\nno room\ncrowded\n");
        }
        CHECK(raced);
    }
}

TEST_CASE("an address that failed lately comes last") {
    Caller caller;
    Listener one("127.0.0.1"), other("127.0.0.2", one.port);
    caller.a["mx.test"] = {"127.0.0.1", "127.0.0.2"};
    for (int i = 0; i < 20; ++i) {
        caller.context->peer_history = {};
        caller.context->peer_history.record_failure(*common::IpAddress::parse("127.0.0.1"),
                                                    common::Loop::now().monotonic);
        CHECK(caller.connector({host("mx.test", one.port, 10)}).starts_with("ask 127.0.0.2"));
    }
}

TEST_CASE("no more addresses than an attempt may try; the fallback has as many of its own") {
    Caller caller;
    const auto closed = Listener("127.0.0.1").port;
    for (int i = 1; i <= 50; ++i) caller.a["mx.test"].push_back("127.0.1." + std::to_string(i));
    CHECK(count(caller.connector({host("mx.test", closed, 10)}), "Connection refused") == 5);
    caller.a["more.test"] = {"127.0.3.1"};
    CHECK(count(caller.connector(
                    {host("mx.test", closed, 10), host("more.test", closed, 20), host("last.test", closed, 30)}),
                "Connection refused") == 5);
    CHECK_FALSE(caller.asked_names.contains("last.test"));

    caller.a["relay.test"] = {"127.0.2.1", "127.0.2.2"};
    const auto said = caller.connector({host("relay.test", closed, 0, Tier::fallback), host("mx.test", closed, 10)});
    CHECK(count(said, "mx.test[127.0.1.") == 5);
    CHECK(count(said, "relay.test[127.0.2.") == 2);
    CHECK(said.ends_with("exhausted\n"));

    for (int i = 3; i <= 40; ++i) caller.a["relay.test"].push_back("127.0.2." + std::to_string(i));
    caller.context->resolver = std::make_shared<dns::Resolver>(caller.loop, caller.names.settings());
    const auto all = caller.connector({host("relay.test", closed, 0, Tier::fallback), host("mx.test", closed, 10)});
    CAPTURE(all);
    CHECK(count(all, "Connection refused") == 10);
}

TEST_CASE("the last address of an attempt is another host's, if there is one") {
    Caller caller;
    Listener serves("127.0.0.9");
    caller.a["dead.test"] = {"127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5", "127.0.0.6"};
    caller.a["second.test"] = {"127.0.0.9"};
    const auto said = caller.connector({host("dead.test", serves.port, 10), host("second.test", serves.port, 20)});
    CHECK(said.ends_with("reached second.test[127.0.0.9]" + colon(serves.port) + "\n"));
    CHECK(count(said, "refused") == 4); // the better one has had its chances
}

TEST_CASE("where hosts are more than tries, those that were dead lately come behind the others") {
    Caller caller;
    Listener serves("127.0.0.9");
    std::vector<proto::route::Host> hosts;
    for (int n = 1; n <= 6; ++n)
        hosts.push_back(host("127.0.1." + std::to_string(n), serves.port, static_cast<std::uint16_t>(10 * n)));
    const auto dead = caller.connector(hosts);
    CHECK(count(dead, "refused") == 5);
    CHECK(dead.ends_with("exhausted\n"));
    hosts.push_back(host("127.0.0.9", serves.port, 90));
    const auto then = caller.connector(hosts);
    CHECK(then.ends_with("reached 127.0.0.9[127.0.0.9]" + colon(serves.port) + "\n"));
    SUBCASE("in the end they are tried all the same, each once") {
        hosts.pop_back();
        const auto again = caller.connector(hosts); // all are known to be dead
        CHECK(count(again, "refused") == 5);
        CHECK(again.ends_with("exhausted\n"));
    }
    SUBCASE("preference counts where all can be tried") {
        hosts.erase(hosts.begin(), hosts.begin() + 4);
        const auto few = caller.connector(hosts);
        CHECK(few.starts_with("ask 127.0.1.5"));
        CHECK(few.ends_with("reached 127.0.0.9[127.0.0.9]" + colon(serves.port) + "\n"));
    }
}

TEST_CASE("the fallback serves when the destination's hosts are not there, not when they are merely full") {
    Caller caller;
    Listener relay("127.0.0.9");
    const auto closed = Listener("127.0.0.1").port;
    const auto fallback = host("127.0.0.9", relay.port, 0, Tier::fallback);
    CHECK(caller.connector({fallback, host("none.test", closed, 10)})
              .ends_with("reached 127.0.0.9[127.0.0.9]" + colon(relay.port) + "\n"));
    CHECK(caller.connector({fallback, host("127.0.0.1", closed, 10)})
              .ends_with("reached 127.0.0.9[127.0.0.9]" + colon(relay.port) + "\n"));
    caller.full = {"127.0.0.1" + colon(closed)};
    CHECK(caller.connector({fallback, host("127.0.0.1", closed, 10)}).ends_with("no room\ncrowded\n"));
    caller.full.clear();
    caller.connector_.emplace(*caller.context, caller, std::vector{fallback, host("127.0.0.1", closed, 10)});
    caller.connector_->skip_fallback();
    const auto without = caller.go_on();
    CAPTURE(without);
    CHECK(without.ends_with("Connection refused\nexhausted\n"));
}

TEST_CASE("AAAA that never comes does not keep A waiting") {
    Caller caller;
    caller.late_aaaa = true;
    Listener server("127.0.0.1");
    caller.a["mx.test"] = {"127.0.0.1"};
    CHECK(caller.connector({host("mx.test", server.port, 10)})
              .ends_with("reached mx.test[127.0.0.1]" + colon(server.port) + "\n"));
}

TEST_CASE("hosts without addresses: why, and the next") {
    Caller caller;
    Listener server("127.0.0.1");
    caller.a["mx.test"] = {"127.0.0.1"};
    CHECK(caller.connector({host("none.test", 25, 10), host("mx.test", server.port, 20)}) ==
          "5.4.4\nask 127.0.0.1" + colon(server.port) + "\nreached mx.test[127.0.0.1]" + colon(server.port) + "\n");
    CHECK(caller.connector({}) == "exhausted\n");
    SUBCASE("of one family, the other may have some") {
        caller.context->settings.ipv6 = false;
        CHECK(caller.connector({host("none.test", 25, 10)}) == "4.4.4\nexhausted\n");
    }
}

TEST_CASE("a test may say where a host really is") {
    Caller caller;
    Listener server("127.0.0.1");
    caller.a["mx.test"] = {"192.0.2.1"};
    const auto to = *common::Endpoint::parse("127.0.0.1" + colon(server.port));
    for (const std::string moved : {"mx.test", "192.0.2.1"}) {
        caller.context->connect_to = {{moved, 25, to}};
        CHECK(caller.connector({host("mx.test", 25, 10)}).ends_with("reached mx.test[192.0.2.1]:25\n"));
    }
}

TEST_CASE("what is remembered of an address fades") {
    PeerHistory peer_history;
    const auto address = *common::IpAddress::parse("192.0.2.1");
    const smtp::Monotonic now{std::chrono::hours(1000)};
    CHECK(!peer_history.failed_lately(address, now));
    CHECK(peer_history.may_pipeline(address, now));
    peer_history.record_failure(address, now);
    peer_history.distrust_pipelining(address, now);
    CHECK(peer_history.failed_lately(address, now));
    CHECK(!peer_history.may_pipeline(address, now));
    CHECK(!peer_history.failed_lately(address, now + PeerHistory::failed_for));
    CHECK(peer_history.may_pipeline(address, now + PeerHistory::distrusted_for));
    peer_history.record_success(address);
    CHECK(!peer_history.failed_lately(address, now));
    for (std::uint32_t i = 0; i < 2 * PeerHistory::max_entries; ++i) {
        common::IpAddress other;
        other.bytes[0] = static_cast<std::uint8_t>(i >> 16), other.bytes[1] = static_cast<std::uint8_t>(i >> 8),
        other.bytes[2] = static_cast<std::uint8_t>(i);
        peer_history.record_failure(other, now);
    }
    CHECK(peer_history.failed_lately(common::IpAddress{{0, 0x4e, 0x1f}}, now)); // the last one
}

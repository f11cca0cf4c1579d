// A connection against servers that follow a script: "C:" what must come (a beginning of a line; "C:
// <message>" reads up to the final dot), "S:" what is answered, "tls" shakes hands, "close" hangs up. Real files, real sockets on
// loopback.
#include "daemons/common/loop.h"
#include "daemons/smtp-client/connection.h"
#include "libspool/commit_pool.h"
#include "libspool/message_writer.h"
#include "libspool/real_disk.h"
#include "libspool/store.h"
#include "tests/common/tls/authority.h"
#include "tests/temporary_directory.h"
#include <arpa/inet.h>
#include <atomic>
#include <cstdlib>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <netinet/in.h>
#include <sstream>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>

using namespace smtp_client;
using namespace std::chrono_literals;
namespace delivery = proto::delivery;

namespace {

// Plays its scripts, one connection after the other.
class Server {
public:
    explicit Server(std::vector<std::string> scripts, std::shared_ptr<const tls::Context> context = nullptr)
        : context_(std::move(context)), fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in any{};
        any.sin_family = AF_INET;
        any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        REQUIRE(::bind(fd_.number(), reinterpret_cast<sockaddr*>(&any), sizeof any) == 0);
        REQUIRE(::listen(fd_.number(), 10) == 0);
        socklen_t size = sizeof any;
        ::getsockname(fd_.number(), reinterpret_cast<sockaddr*>(&any), &size);
        port = ntohs(any.sin_port);
        thread_ = std::thread([this, scripts = std::move(scripts)] {
            for (const auto& script : scripts) play(script);
        });
    }
    ~Server() {
        ::shutdown(fd_.number(), SHUT_RDWR);
        thread_.join();
    }
    std::string problems() {
        ::shutdown(fd_.number(), SHUT_RDWR);
        if (thread_.joinable()) thread_.join();
        thread_ = std::thread([] {});
        return problems_;
    }

    std::uint16_t port = 0;
    std::string received; // all messages
    int resumed = 0;      // TLS sessions that a client came back to

private:
    static std::string opened(tls::Session& secure) { // all that it has been fed
        std::string out, space(65536, '\0');
        for (std::size_t n = 0; secure.read(space, n) == tls::Session::Progress::done;) out.append(space, 0, n);
        return out;
    }
    void play(const std::string& script) {
        common::Fd peer(::accept4(fd_.number(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!peer) return;
        timeval patience{10, 0};
        ::setsockopt(peer.number(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        std::istringstream lines(script);
        std::string buffer;
        std::unique_ptr<tls::Session> secure;
        char space[65536];
        const auto send = [&](std::string_view text) {
            static_cast<void>(::send(peer.number(), text.data(), text.size(), MSG_NOSIGNAL));
        };
        const auto receive = [&] {
            const auto n = ::recv(peer.number(), space, sizeof space, 0);
            return std::string_view(space, n > 0 ? static_cast<std::size_t>(n) : 0);
        };
        for (std::string line; std::getline(lines, line);) {
            if (line == "close") {
                if (secure) secure->close(), send(secure->output());
                return;
            }
            if (line == "tls") {
                secure = tls::Session::accept(context_);
                while (secure->shake_hands() == tls::Session::Progress::wants_more) {
                    send(secure->output());
                    const auto sealed = receive();
                    if (sealed.empty()) return;
                    secure->feed(sealed);
                }
                buffer += opened(*secure); // what came with the handshake's end
                send(secure->output());
                resumed += secure->facts().resumed;
                continue;
            }
            const auto words = line.substr(std::min<std::size_t>(3, line.size()));
            if (line.starts_with("S:")) {
                const auto wire = words + "\r\n";
                if (secure) secure->write(wire);
                send(secure ? secure->output() : wire);
                continue;
            }
            const std::string end = words == "<message>" ? "\r\n.\r\n" : words == "<end>" ? "never" : "\r\n";
            std::size_t at;
            while ((at = buffer.find(end)) == buffer.npos) {
                const auto got = receive();
                if (got.empty()) {
                    if (words != "<end>") problems_ += "closed before " + line + "\n";
                    return;
                }
                if (secure) secure->feed(got);
                buffer += secure ? opened(*secure) : got;
            }
            const auto got = buffer.substr(0, at + end.size());
            buffer.erase(0, at + end.size());
            if (words == "<message>")
                received += got;
            else if (!got.starts_with(words))
                problems_ += "wanted " + words + ", got " + got;
        }
    }

    std::shared_ptr<const tls::Context> context_;
    common::Fd fd_;
    std::string problems_;
    std::thread thread_;
};

std::string hello(std::string_view more = "S: 250-mx.test\nS: 250-PIPELINING\nS: 250 8BITMIME\n") {
    return "S: 220 mx.test\nC: EHLO client.test\n" + std::string(more);
}
const std::string transaction =
    "C: MAIL FROM:<a@x>\nC: RCPT TO:<b@y>\nC: DATA\nS: 250 Ok\nS: 250 Ok\nS: 354 Go\n"
    "C: <message>\n";

class World : Connection::Owner {
public:
    World() {
        auto disk = spool::RealDisk::open_at(directory_);
        REQUIRE(disk);
        disk_ = *std::move(disk);
        REQUIRE(spool::prepare_spool(*disk_, {1}));
        pool_ = std::make_unique<spool::CommitPool>(*disk_, 0, [] {});
        auto shared = spool::SharedDirectory::open(*disk_, "incoming/01");
        REQUIRE(shared);
        shared_ = *std::move(shared);
        common::LogSettings settings;
        settings.host = "test";
        log_.configure(settings, common::Fd(::open(log_file().c_str(), O_CREAT | O_APPEND | O_WRONLY, 0600)));
        log_reader_.open(log_file());
        config::SmtpClient client;
        client.helo = "client.test";
        office_.emplace(Office{loop_,
                               log_,
                               deadlines_,
                               *disk_,
                               1,
                               client,
                               std::make_shared<dns::Resolver>(loop_, config::Dns{}),
                               {},
                               std::mt19937(1),
                               0});
    }
    ~World() {
        connection_.reset();
        office_.reset();
    }

    Office& office() { return *office_; }

    spool::QueueId write(std::string_view content, std::vector<std::string> to = {"b@y"}) {
        spool::Envelope envelope;
        envelope.reverse_path = "a@x";
        for (auto& address : to) envelope.recipients.emplace_back().address = address;
        const spool::QueueId id{(std::uint64_t{++last_} << 32) | 1};
        spool::MessageWriter writer(*pool_, *shared_, id, envelope);
        writer.append(content);
        bool durable = false;
        writer.commit([&](auto receipt) { durable = receipt.has_value(); });
        pool_->drain();
        REQUIRE(durable);
        return id;
    }
    std::string path(spool::QueueId id) const {
        return directory_ + "/" + spool::path_of(id, spool::Location::incoming);
    }

    void deliver(spool::QueueId id, std::vector<std::uint32_t> recipients = {0}) {
        delivery::Deliver order;
        order.connection = 7;
        order.delivery = ++deliveries_;
        order.queue_id = id;
        order.recipients = std::move(recipients);
        order.arrived = order.queued = common::Loop::now().wall.time_since_epoch().count();
        connection_->deliver(std::move(order));
    }
    Connection& connect(std::vector<proto::route::Host> hosts, delivery::Connect order = {},
                        Watcher* watcher = nullptr) {
        order.connection = 7;
        order.hosts = std::move(hosts);
        connection_.emplace(*office_, static_cast<Connection::Owner&>(*this), std::move(order), watcher);
        return *connection_;
    }
    // Until Closed.
    std::string run() {
        common::Timer patience(loop_, [this] {
            told += "NOT CLOSED\n";
            loop_.stop();
        });
        patience.start(20s);
        loop_.run();
        connection_.reset();
        log_.flush();
        return told;
    }
    // While it runs: looks into the log at the end of each turn.
    void once_logged(std::string text, std::function<void()> then) {
        look_.emplace(loop_, [this, text = std::move(text), then = std::move(then)] {
            log_.flush();
            if (log_text().find(text) != std::string::npos) return then();
            look_->schedule();
        });
        look_->schedule();
    }
    std::string log_text() {
        std::stringstream text; // through a descriptor of its own: there may be none left
        log_reader_.clear();
        log_reader_.seekg(0);
        text << log_reader_.rdbuf();
        return text.str();
    }

    std::string told;
    std::function<void()> on_connected = [] {};
    std::string unasked;           // an address: the queue-manager goes before it has answered about it
    std::set<std::string> crowded; // addresses that have all the connections they may have

private:
    void left(Connection&, const std::string&) override {}
    void may_connect(Connection& connection, const std::string& address, bool) override {
        if (address == unasked) return connection.close(Connection::Unbegun::drop);
        if (crowded.contains(address)) told += "no room at " + address + "\n";
        connection.permit(crowded.contains(address) ? Connection::Permit::crowded : Connection::Permit::yes);
    }
    void connected(Connection&) override {
        told += "connected\n";
        on_connected();
    }
    void source_refused(Connection&, delivery::SourceRefused refused) override {
        told += "refused " + refused.source + (refused.ours ? " (ours)" : "") + "\n";
    }
    void done(Connection&, delivery::Done done, std::optional<spool::MessageReader>) override {
        told += "done " + std::to_string(done.delivery);
        if (!done.source.empty()) told += " from " + done.source;
        if (done.gone) told += " gone";
        if (done.unreadable) told += " unreadable";
        for (auto& r : done.results)
            told += " " + std::to_string(r.recipient) + "=" + std::to_string(static_cast<int>(r.outcome)) +
                    ":" + done.replies.at(r.reply).text +
                    (done.replies.at(r.reply).in_doubt ? " (in doubt)" : "");
        told += "\n";
    }
    void closed(Connection&, delivery::Closed closed) override {
        told += closed.failed ? "failed: " + closed.reason.text + "\n" : closed.crowded ? "crowded\n" : "closed\n";
        loop_.stop();
    }
    std::string log_file() const { return directory_ + "/log"; }

    TemporaryDirectory temporary_;
    const std::string directory_ = temporary_.path();
    common::Loop loop_;
    common::Log log_{loop_, "smtp"};
    common::LoopDeadlines deadlines_{loop_};
    std::unique_ptr<spool::RealDisk> disk_;
    std::unique_ptr<spool::CommitPool> pool_;
    std::unique_ptr<spool::SharedDirectory> shared_;
    std::optional<Office> office_;
    std::optional<Connection> connection_;
    std::optional<common::TurnHook> look_;
    std::ifstream log_reader_;
    std::uint64_t last_ = 0, deliveries_ = 0;
};

// A UNIX socket that takes connections and never greets.
struct SilentSocket {
    SilentSocket() {
        sockaddr_un local{};
        local.sun_family = AF_UNIX;
        REQUIRE(path.size() < sizeof local.sun_path);
        path.copy(local.sun_path, path.size());
        REQUIRE(::bind(fd.number(), reinterpret_cast<sockaddr*>(&local), sizeof local) == 0);
        REQUIRE(::listen(fd.number(), 1) == 0);
    }
    std::string timed_out() const { return "conversation with localhost[" + path + "] timed out"; }

    TemporaryDirectory place;
    const std::string path = std::string(place.path()) + "/lmtp";
    const common::Fd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
};

std::uint16_t closed_port() { return Server({}).port; }

} // namespace

TEST_CASE("deliveries go one behind the other over one connection") {
    Server server(
        {hello() + transaction + "C: MAIL FROM:<a@x>\nC: RCPT TO:<b@y>\nC: RCPT TO:<c@y>\nC: DATA\n" +
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
    CHECK(log.find("dsn=5.1.1, status=bounced (host " + std::string(peer) + " said: 550 5.1.1 No") !=
          log.npos);
}

TEST_CASE("a large message goes out piece by piece") {
    Server server({hello() + transaction + "S: 250 2.0.0 Ok\nC: QUIT\nclose"});
    World world;
    std::string content = "Subject: large\r\n\r\n";
    for (int i = 0; i < 50'000; ++i)
        content += "line " + std::to_string(i) + " of a message that is large\r\n";
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
          Case{
              hello() + transaction + "close",
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
                   hello() +
                       "C: MAIL FROM:<a@x>\nS: 250 Ok\nC: RCPT TO:<b@y>\nS: 250 Ok\nC: DATA\nS: 354 Go\nC: "
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
    auto& connection = world.connect({{"127.0.0.1", server.port, 0},
                                      {"127.0.0.1", relay.port, 0, 0, decide::Tier::fallback}});
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
    CHECK(world.run() == "connected\ndone 1 gone\ndone 2 unreadable\ndone 3 0=0:250 2.0.0 Ok\nclosed\n");
    CHECK(server.problems() == "");
    CHECK(server.received == "z\r\n.\r\n");
}

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

// --- TLS

namespace {

std::shared_ptr<const tls::Context> server_context(const proto::secrets::Certificate& certificate) {
    proto::secrets::Server secrets;
    secrets.certificates = {certificate};
    secrets.ticket_keys = {tls::testing::ticket_key('a')};
    auto made = tls::Context::server(secrets, {});
    REQUIRE(made);
    return *made;
}

std::shared_ptr<const tls::Context> client_context(const std::string& authorities = "") {
    tls::ClientOptions options;
    options.authorities = authorities;
    auto made = tls::Context::client(options);
    REQUIRE(made);
    return *made;
}

void requires_tls(World& world, const std::string& domain, decide::TlsLevel level) {
    decide::RouteRule rule;
    rule.pattern = domain;
    rule.tls = level;
    world.office().tls_routes.emplace(std::vector{rule});
}

const std::string starttls = "S: 220 mx.test\nC: EHLO client.test\nS: 250-mx.test\nS: 250 STARTTLS\n"
                             "C: STARTTLS\nS: 220 Go\ntls\nC: EHLO client.test\nS: 250 mx.test\n";
const std::string no_tls = "S: 220 mx.test\nC: EHLO client.test\nS: 250 mx.test\nC: QUIT\nclose";

} // namespace

TEST_CASE("TLS that is required for a domain is required under all its names") {
    Server server({no_tls});
    World world;
    world.office().tls = client_context();
    requires_tls(world, "xn--bcher-kva.example", decide::TlsLevel::encrypt);
    world.connect({{"127.0.0.1", server.port, 0}});
    world.deliver(world.write("x\r\n", {"b@B\u00dcCHER.example"}));
    CHECK(world.run().find("TLS is required, but was not offered by host") != std::string::npos);
    CHECK(server.problems() == "");
}

TEST_CASE("recipients of several domains, rerouted to one next hop: TLS as the strictest requires it") {
    Server server({no_tls});
    World world;
    world.office().tls = client_context();
    requires_tls(world, "strict.example", decide::TlsLevel::encrypt);
    world.connect({{"127.0.0.1", server.port, 0}});
    world.deliver(world.write("x\r\n", {"b@lax.example", "c@strict.example"}), {0, 1});
    CHECK(world.run().find("TLS is required, but was not offered by host") != std::string::npos);
    CHECK(server.problems() == "");
}

TEST_CASE("a UNIX socket needs no TLS; the next host of the link, over the network, does") {
    const SilentSocket silent;
    Server server({no_tls});
    World world;
    world.office().tls = client_context();
    world.office().settings.greeting_timeout = 100ms; // of the socket, which never greets
    world.office().settings.tls = decide::TlsLevel::encrypt;
    proto::route::Host store{silent.path, 24, 0}, network{"127.0.0.1", server.port, 10};
    world.connect({store, network});
    world.deliver(world.write("x\r\n"));
    const auto told = world.run();
    CHECK(world.log_text().find(silent.timed_out()) != std::string::npos);
    CHECK(told.find("TLS is required, but was not offered by host") != std::string::npos);
    CHECK(server.problems() == "");
}

TEST_CASE("TLS is required: the next host serves when the first ends the conversation") {
    const auto context = server_context(tls::testing::make_certificate("mx", "DNS:mx.test"));
    Server first({starttls + "C: MAIL FROM:<a@x>\nS: 421 4.3.2 Going down\nclose"}, context);
    Server second({starttls + "C: MAIL FROM:<a@x>\nS: 250 Ok\nC: RCPT TO:<b@y>\nS: 250 Ok\nC: DATA\nS: 354 Go\n"
                              "C: <message>\nS: 250 2.0.0 Ok\nC: QUIT\nclose"},
                  context);
    World world;
    world.office().tls = client_context();
    world.office().settings.tls = decide::TlsLevel::encrypt;
    auto& connection = world.connect({{"127.0.0.1", first.port, 10}, {"127.0.0.1", second.port, 20}});
    world.deliver(world.write("x\r\n"));
    connection.close();
    CHECK(world.run() == "connected\ndone 1 0=0:250 2.0.0 Ok\nclosed\n");
    CHECK(first.problems() == "");
    CHECK(second.problems() == "");
}

TEST_CASE("a TLS session whose certificate was refused is not come back to, one that served is") {
    // (Under TLS 1.2 what one may come back with is there before the certificate is judged.)
    const auto certificate = tls::testing::make_certificate("mx", "IP:127.0.0.1");
    const auto served = starttls + "C: QUIT\nclose";
    const auto context = server_context(certificate);
    SSL_CTX_set_max_proto_version(context->first(), TLS1_2_VERSION);
    for (const bool trusted : {false, true}) {
        CAPTURE(trusted);
        Server server({trusted ? served : starttls, served}, context);
        World world;
        auto& office = world.office();
        office.settings.tls = decide::TlsLevel::verify;
        tls::ClientOptions options;
        if (trusted) options.authorities = certificate.chain;
        for (int n = 0; n < 2; ++n) {
            auto made = tls::Context::client(options);
            REQUIRE(made);
            if (n == 0 || !trusted) office.tls = *made;
            auto& connection = world.connect({{"127.0.0.1", server.port, 0}});
            world.on_connected = [&] { connection.close(); };
            world.run();
            options.authorities = certificate.chain;
        }
        static_cast<void>(server.problems());
        CHECK(server.resumed == (trusted ? 1 : 0));
        CAPTURE(world.told);
        CHECK(world.told.ends_with("connected\nclosed\n"));
    }
}

TEST_CASE("what came of every try to have TLS is told, for reports") {
    const auto context = server_context(tls::testing::make_certificate("mx", "DNS:mx.test"));
    using decide::TlsResult;
    struct {
        decide::TlsLevel level;
        std::string script;
        TlsResult result;
    } const table[] = {
        {decide::TlsLevel::may, starttls + "C: QUIT\nclose", TlsResult::success},
        {decide::TlsLevel::may, no_tls, TlsResult::starttls_not_supported},
        {decide::TlsLevel::encrypt, no_tls, TlsResult::starttls_not_supported},
        {decide::TlsLevel::encrypt, "S: 220 mx.test\nC: EHLO client.test\nS: 250-mx.test\nS: 250 STARTTLS\n"
                                    "C: STARTTLS\nS: 220 Go\nclose",
         TlsResult::validation_failure},
        {decide::TlsLevel::verify, starttls, TlsResult::certificate_not_trusted},
    };
    for (const auto& row : table) {
        Server server({row.script}, context);
        World world;
        world.office().tls = client_context();
        world.office().settings.tls = row.level;
        std::vector<decide::TlsOutcome> outcomes;
        world.office().tls_outcome = [&](const decide::TlsOutcome& outcome) { outcomes.push_back(outcome); };
        auto& connection = world.connect({{"127.0.0.1", server.port, 0}});
        world.deliver(world.write("x\r\n"));
        connection.close();
        world.run();
        static_cast<void>(server.problems());
        REQUIRE(outcomes.size() == 1);
        CHECK(outcomes[0].result == row.result);
        CHECK(outcomes[0].domain == "y");
        CHECK(outcomes[0].host == "127.0.0.1");
        CHECK(outcomes[0].policy == decide::TlsPolicyType::none);
        CHECK(outcomes[0].reason.empty() == (row.result == TlsResult::success || row.level == decide::TlsLevel::may));
    }
}

namespace {
struct Onlooker final : Watcher {
    void looked_up(const std::string&, dns::Type, const dns::Answer&) override {}
    void connected(const std::string&) override {}
    void published(const std::string&, const Published&) override {}
    void introduces(const std::string&) override {}
    void sent(const std::string&, const smtp::client_event::Sent&) override {}
    void said(const std::string&, const smtp::client_event::Said&) override {}
    void shook_hands(const std::string&, const tls::Facts&, const tls::Judgement&, std::string_view,
                     decide::TlsLevel) override {}
    void failed(const std::string&, const smtp::Verdict& why) override { failure = why.text; }
    void probed(const std::string&, const smtp::TransactionResult&) override {}
    std::string failure;
};
} // namespace

TEST_CASE("what an operator tries is no session that reports count") {
    Server server({no_tls});
    World world;
    Onlooker onlooker;
    world.office().tls = client_context();
    world.office().settings.tls = decide::TlsLevel::encrypt;
    int outcomes = 0;
    world.office().tls_outcome = [&](const decide::TlsOutcome&) { ++outcomes; };
    auto& connection = world.connect({{"127.0.0.1", server.port, 0}}, {}, &onlooker);
    smtp::Transaction probe;
    probe.probe = true;
    probe.recipients = {{"b@y", {}}};
    connection.probe(probe, false, {});
    connection.close();
    world.run();
    CHECK(onlooker.failure.find("TLS is required, but was not offered by host") != std::string::npos);
    CHECK(outcomes == 0);
}

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

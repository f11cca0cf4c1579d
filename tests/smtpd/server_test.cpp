// A whole worker on loopback: real sockets, real files, a queue-manager and a categorizer that are only
// voices.
#include "daemons/common/ipc/listener.h"
#include "daemons/common/local_socket.h"
#include "daemons/common/proto/recipient_check.h"
#include "daemons/common/proto/submission.h"
#include "daemons/common/wake.h"
#include "daemons/smtpd/smtpd.h"
#include "libsmtp/base64.h"
#include "libspool/store.h"
#include "tests/common/tls/authority.h"
#include <arpa/inet.h>
#include <atomic>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <netinet/in.h>
#include <poll.h>
#include <sstream>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <thread>

using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

struct Folder {
    fs::path path;
    Folder() {
        char name[] = "/tmp/smtpd-test-XXXXXX";
        path = ::mkdtemp(name);
        fs::create_directories(path / "spool/run/private");
    }
    ~Folder() { fs::remove_all(path); }
};

common::Fd listening(int family, const sockaddr* address, socklen_t size) {
    common::Fd fd(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    REQUIRE(::bind(fd.number(), address, size) == 0);
    REQUIRE(::listen(fd.number(), 100) == 0);
    return fd;
}

common::Fd listening_at(const std::string& path) {
    auto fd = common::listen_local(path, 0600);
    REQUIRE(fd);
    return std::move(*fd);
}

// What a client does, in its own thread: sends a line, reads what comes until a whole reply is there.
class Client {
public:
    explicit Client(std::uint16_t port) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        fd_.reset(::socket(AF_INET, SOCK_STREAM, 0));
        timeval patience{5, 0};
        ::setsockopt(fd_.number(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        if (::connect(fd_.number(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fd_.reset();
    }
    void send(std::string_view text) {
        static_cast<void>(::send(fd_.number(), text.data(), text.size(), MSG_NOSIGNAL));
    }
    void send_what_fits(std::string_view text) {
        static_cast<void>(::send(fd_.number(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
    }
    // "" at the end.
    std::string reply() {
        while (true) {
            for (std::size_t at = 0; at < in_.size();) {
                const auto end = in_.find("\r\n", at);
                if (end == in_.npos) break;
                if (end >= at + 4 && in_[at + 3] == ' ') {
                    auto out = in_.substr(0, end);
                    in_.erase(0, end + 2);
                    return out;
                }
                at = end + 2;
            }
            char buffer[4096];
            const auto n = ::recv(fd_.number(), buffer, sizeof buffer, 0);
            if (n <= 0) return "";
            in_.append(buffer, static_cast<std::size_t>(n));
        }
    }
    std::string say(const std::string& line) {
        send(line + "\r\n");
        return reply();
    }
    void close() { fd_.reset(); }
    int number() const { return fd_.number(); }

private:
    common::Fd fd_;
    std::string in_;
};

using Submissions = ipc::Channel<proto::submission::Message>;
using Checks = ipc::Channel<proto::recipient_check::Message>;

struct Worker {
    explicit Worker(std::function<void(config::Config&)> change = {},
                    config::Service service = config::Service::relay,
                    const std::function<void(config::Listener&)>& adjust = {},
                    std::shared_ptr<const proto::secrets::Secrets> secrets = {})
        : log(loop, "smtpd") {
        config.mta.hostname = "mx.test";
        config.mta.origin = "here.example";
        config.spool.directory = folder.path / "spool";
        config.spool.minimum_free = 0;
        config.spool.minimum_free_inodes = 0;
        config.spool.sync_threads = 2;
        config.local.domains = {"here.example"};
        config.relay.networks = {*common::Network::parse("127.0.0.0/8")};
        config.smtpd.workers = 1;
        if (change) change(config);
        config::Listener listener;
        listener.service = service;
        listener.submitters = config.relay.networks;
        listener.name = "relay";
        listener.message_size = config.smtpd.message_size;
        listener.recipients = config.smtpd.recipients;
        listener.sessions = config.smtpd.sessions;
        if (adjust) adjust(listener);
        config.listeners = {listener};
        auto disk = spool::RealDisk::open_at(config.spool.directory);
        REQUIRE(spool::prepare_spool(**disk, {7}));
        common::LogSettings settings;
        log.configure(settings, common::Fd(::open((folder.path / "log").c_str(),
                                                  O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600)));

        const auto run = (folder.path / "spool/run").string();
        const ipc::ExpectedTokens expected{{proto::Role::smtpd, "secret"}};
        queue_manager = std::make_unique<ipc::Listener>(
            loop, log, listening_at(run + "/private/queue-manager"), expected);
        queue_manager->serve<proto::submission::Message>(
            proto::submission::conversation, {proto::Role::smtpd},
            [this](ipc::Peer, std::unique_ptr<Submissions> channel) {
                submissions = std::move(channel);
                submissions->set_callbacks(
                    {[this](proto::submission::Message&& message) {
                         submitted.push_back(std::get<proto::submission::Submitted>(message));
                         ++heard;
                         heard.notify_all();
                         if (takes) submissions->send(proto::submission::Taken{submitted.back().queue_id});
                     },
                     [](const std::string&) {}});
            });
        categorizer =
            std::make_unique<ipc::Listener>(loop, log, listening_at(run + "/private/categorizer"), expected);
        categorizer->serve<proto::recipient_check::Message>(
            proto::recipient_check::conversation, {proto::Role::smtpd},
            [this](ipc::Peer, std::unique_ptr<Checks> channel) {
                checks = std::move(channel);
                checks->set_callbacks(
                    {[this](proto::recipient_check::Message&& message) {
                         using namespace proto::recipient_check;
                         const auto& check = std::get<Check>(message);
                         ++asked;
                         const bool known = check.address.starts_with("bob@");
                         checks->send(Checked{check.request, known ? Verdict::known : Verdict::unknown,
                                              known ? "" : "User unknown in local recipient table"});
                     },
                     [](const std::string&) {}});
            });
        surroundings = std::make_unique<common::Surroundings>(
            common::Surroundings{loop, log, ipc::Identity{proto::Role::smtpd, 7, "secret"}, run,
                                 [this](std::string_view text) { trouble = text; }});

        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        auto fd = listening(AF_INET, reinterpret_cast<sockaddr*>(&address), sizeof address);
        socklen_t size = sizeof address;
        ::getsockname(fd.number(), reinterpret_cast<sockaddr*>(&address), &size);
        port = ntohs(address.sin_port);
        common::Orders orders{config, 1, {}, {}};
        orders.secrets = std::move(secrets);
        orders.listeners.push_back({"relay", "127.0.0.1", std::move(fd)});
        auto made = smtpd::Smtpd::create(*surroundings, std::move(orders));
        REQUIRE(made);
        smtpd = *std::move(made);
    }
    ~Worker() {
        log.flush();
        smtpd.reset();
        submissions.reset();
        checks.reset();
        queue_manager.reset();
        categorizer.reset();
    }

    // Runs the client's part in a thread and the worker until it is through.
    void with(const std::function<void()>& part) {
        common::Wake done(loop, [this] { loop.stop(); });
        std::thread thread([&] {
            part();
            done.signal();
        });
        loop.run();
        thread.join();
        log.flush();
    }
    // In the client's thread: until the queue-manager's voice has heard of so many.
    void wait_submitted(std::size_t n) {
        for (auto now = heard.load(); now < n; now = heard.load()) heard.wait(now);
    }
    std::string logged() {
        std::ifstream in(folder.path / "log");
        std::ostringstream out;
        out << in.rdbuf();
        return out.str();
    }
    // In the client's thread: until the log says it.
    void wait_logged(std::string_view text) {
        const common::Fd changes(::inotify_init1(IN_CLOEXEC));
        REQUIRE(::inotify_add_watch(changes.number(), (folder.path / "log").c_str(), IN_MODIFY) >= 0);
        while (logged().find(text) == std::string::npos) {
            pollfd ready{changes.number(), POLLIN, 0};
            REQUIRE(::poll(&ready, 1, 20'000) == 1);
            char events[4096];
            static_cast<void>(::read(changes.number(), events, sizeof events));
        }
    }
    std::vector<fs::path> files() {
        std::vector<fs::path> out;
        for (auto& entry : fs::directory_iterator(folder.path / "spool/incoming/07"))
            if (entry.path().filename() != "writer") out.push_back(entry.path());
        return out;
    }

    Folder folder;
    config::Config config;
    common::Loop loop;
    common::Log log;
    std::unique_ptr<ipc::Listener> queue_manager, categorizer;
    std::unique_ptr<Submissions> submissions;
    std::unique_ptr<Checks> checks;
    std::unique_ptr<common::Surroundings> surroundings;
    std::unique_ptr<smtpd::Smtpd> smtpd;
    std::vector<proto::submission::Submitted> submitted;
    std::atomic<std::size_t> heard = 0; // of those
    bool takes = true;
    int asked = 0;
    std::string trouble;
    std::uint16_t port = 0;
    std::function<void()> on_knock; // what the worker does when the client's thread knocks
    common::Wake knock{loop, [this] { on_knock(); }};
};

std::string deliver(Client& client, const std::string& to, const std::string& content) {
    client.say("MAIL FROM:<ann@client.example>");
    const auto rcpt = client.say("RCPT TO:<" + to + ">");
    if (!rcpt.starts_with("250")) return rcpt;
    client.say("DATA");
    return client.say(content + ".");
}

} // namespace

TEST_CASE("a message: durable, announced, logged") {
    Worker worker;
    std::string greeting, reply;
    worker.with([&] {
        Client client(worker.port);
        greeting = client.reply();
        client.say("EHLO client.example");
        reply = deliver(client, "bob@here.example",
                        "Message-ID: <1@client.example>\r\nSubject: x\r\n\r\nhello\r\n");
        client.say("QUIT");
        worker.wait_submitted(1);
    });
    CHECK(greeting == "220 mx.test ESMTP Postrider");
    REQUIRE(reply.starts_with("250 2.0.0 Ok: queued as "));
    const auto id = reply.substr(24);
    REQUIRE(worker.submitted.size() == 1);
    CHECK(worker.submitted[0].queue_id.text() == id);
    const auto envelope = spool::decode(worker.submitted[0].envelope);
    REQUIRE(envelope);
    CHECK(envelope->reverse_path == "ann@client.example");
    CHECK(envelope->recipients.at(0).address == "bob@here.example");
    CHECK(envelope->client_address == "127.0.0.1");
    CHECK(envelope->helo == "client.example");
    CHECK(envelope->protocol == "ESMTP");
    CHECK(envelope->listener == "relay");
    REQUIRE(worker.files().size() == 1);
    CHECK(worker.files()[0].filename() == id);
    const auto log = worker.logged();
    CHECK(log.find("connect from localhost[127.0.0.1]") != log.npos);
    CHECK(log.find(id + ": client=localhost[127.0.0.1]") != log.npos);
    CHECK(log.find("postfix/cleanup[") != log.npos);
    CHECK(log.find(id + ": message-id=<1@client.example>") != log.npos);
    CHECK(log.find("disconnect from localhost[127.0.0.1] ehlo=1 mail=1 rcpt=1 data=1 quit=1 commands=5") !=
          log.npos);
}

TEST_CASE("recipients are checked, once, and refused in the log's words") {
    Worker worker;
    std::vector<std::string> said;
    worker.with([&] {
        Client client(worker.port);
        client.reply();
        client.say("EHLO client.example");
        client.send("MAIL FROM:<ann@client.example>\r\nRCPT TO:<nobody@here.example>\r\nRCPT "
                    "TO:<bob@here.example>\r\n"
                    "RCPT TO:<bob@here.example>\r\nRCPT TO:<far@remote.example>\r\n");
        for (int i = 0; i < 5; ++i) said.push_back(client.reply());
    });
    CHECK(
        said[1] ==
        "550 5.1.1 <nobody@here.example>: Recipient address rejected: User unknown in local recipient table");
    CHECK(said[2] == "250 2.1.5 Ok");
    CHECK(said[3] == "250 2.1.5 Ok");
    CHECK(said[4] == "250 2.1.5 Ok");
    CHECK(worker.asked == 2);
    const auto log = worker.logged();
    CHECK(log.find("NOQUEUE: reject: RCPT from localhost[127.0.0.1]: 550 5.1.1 <nobody@here.example>: "
                   "Recipient address rejected: "
                   "User unknown in local recipient table; from=<ann@client.example> "
                   "to=<nobody@here.example> proto=ESMTP "
                   "helo=<client.example>") != log.npos);
}

TEST_CASE("what the session itself refuses is in the log, a run of the same once") {
    Worker worker([](config::Config& config) {
        config.smtpd.message_size = 1000;
        config.smtpd.recipients = 1;
    });
    worker.with([&] {
        Client client(worker.port);
        client.reply();
        client.say("EHLO c");
        client.say("MAIL FROM:<ann@client.example> SIZE=5000");
        client.say("MAIL FROM:<ann@client.example> LATER");
        client.say("XYZZY");
        client.say("MAIL FROM:<ann@client.example>");
        for (int i = 0; i < 5; ++i) client.say("RCPT TO:<far@remote.example>");
        client.say("DATA");
        client.say(std::string(2000, 'x') + "\r\n.");
        client.say("RCPT TO:<far@remote.example>");
    });
    const auto log = worker.logged();
    const auto times = [&](const std::string& text) {
        int n = 0;
        for (auto at = log.find(text); at != log.npos; at = log.find(text, at + 1)) ++n;
        return n;
    };
    const std::string from = " from localhost[127.0.0.1]: ", by = "; proto=ESMTP helo=<c>\n";
    CHECK(times("NOQUEUE: reject: MAIL" + from + "552 5.3.4 Message size exceeds fixed limit" + by) == 1);
    CHECK(times("NOQUEUE: reject: MAIL" + from + "555 5.5.4 Unsupported option: LATER" + by) == 1);
    CHECK(times("NOQUEUE: reject: UNKNOWN" + from + "500 5.5.2 Error: command not recognized" + by) == 1);
    CHECK(times(": reject: RCPT" + from +
                "452 4.5.3 Error: too many recipients; from=<ann@client.example> "
                "to=<far@remote.example> proto=ESMTP helo=<c>\n") == 1);
    CHECK(times(": reject: END-OF-MESSAGE" + from +
                "552 5.3.4 Message size exceeds fixed limit; "
                "from=<ann@client.example> to=<far@remote.example> proto=ESMTP helo=<c>\n") == 1);
    CHECK(times("NOQUEUE: reject: RCPT" + from + "503 5.5.1 Error: need MAIL command" + by) == 1);
}

TEST_CASE("what the queue-manager has not taken is said again") {
    Worker worker;
    worker.takes = false;
    worker.with([&] {
        Client client(worker.port);
        client.reply();
        client.say("EHLO c");
        deliver(client, "far@remote.example", "x\r\n");
        worker.wait_submitted(1);
    });
    REQUIRE(worker.submitted.size() == 1);
    CHECK_FALSE(worker.submitted[0].repeated);
    worker.takes = true;
    worker.submissions->fail("gone");
    worker.with([&] { worker.wait_submitted(2); });
    REQUIRE(worker.submitted.size() == 2);
    CHECK(worker.submitted[1].queue_id == worker.submitted[0].queue_id);
    CHECK(worker.submitted[1].repeated);
}

TEST_CASE("headers without end, loops, sizes") {
    Worker worker([](config::Config& config) {
        config.smtpd.header_size = 2000;
        config.smtpd.header_fields = 100;
        config.smtpd.message_size = 50'000;
    });
    std::string hops, fields, size, large, good;
    worker.with([&] {
        Client client(worker.port);
        client.reply();
        client.say("EHLO c");
        const auto times = [](std::string_view text, int n) {
            std::string out;
            while (n-- > 0) out += text;
            return out;
        };
        hops = deliver(client, "far@remote.example", times("Received: x\r\n", 51) + "\r\nx\r\n");
        fields = deliver(client, "far@remote.example", times("X: y\r\n", 101) + "\r\nx\r\n");
        size = deliver(client, "far@remote.example",
                       times("X: " + std::string(900, 'x') + "\r\n", 3) + "\r\nx\r\n");
        large = deliver(client, "far@remote.example", "\r\n" + times("0123456789\r\n", 5000));
        good = deliver(client, "far@remote.example",
                       times("Received: x\r\n", 50) + "\r\n" + times("0123456789\r\n", 4000));
    });
    CHECK(hops.starts_with("554 5.4.6"));
    CHECK(fields.starts_with("554 5.6.0"));
    CHECK(size.starts_with("552 5.3.4"));
    CHECK(large.starts_with("552 5.3.4"));
    CHECK(good.starts_with("250 2.0.0"));
    CHECK(worker.files().size() == 1);
}

TEST_CASE("a large message goes through in pieces") {
    Worker worker;
    std::string reply;
    worker.with([&] {
        Client client(worker.port);
        client.reply();
        client.say("EHLO c");
        std::string content = "Subject: large\r\n\r\n";
        while (content.size() < 8'000'000) content += std::string(70, 'x') + "\r\n";
        reply = deliver(client, "far@remote.example", content);
        worker.wait_submitted(1);
    });
    CHECK(reply.starts_with("250 2.0.0"));
    REQUIRE(worker.submitted.size() == 1);
    CHECK(worker.submitted[0].size > 8'000'000);
    REQUIRE(worker.files().size() == 1);
    CHECK(fs::file_size(worker.files()[0]) > 8'000'000);
}

TEST_CASE("a disk below its floor takes no mail, and says so") {
    Worker worker([](config::Config& config) { config.spool.minimum_free = std::uint64_t{1} << 60; });
    std::string reply;
    worker.with([&] {
        Client client(worker.port);
        client.reply();
        client.say("EHLO c");
        reply = client.say("MAIL FROM:<ann@client.example>");
    });
    CHECK(reply == "452 4.3.1 Insufficient system storage");
    CHECK(worker.trouble == "the spool is full");
    CHECK(worker.logged().find("reject: MAIL from localhost[127.0.0.1]: 452 4.3.1") != std::string::npos);
}

TEST_CASE("a spool that cannot be written: 451, then closed for new mail") {
    Worker worker;
    const auto incoming = worker.folder.path / "spool/incoming/07";
    std::string first, then;
    worker.with([&] {
        Client client(worker.port);
        client.reply();
        client.say("EHLO c");
        fs::rename(incoming, worker.folder.path / "elsewhere");
        first = deliver(client, "far@remote.example", "x\r\n");
        then = client.say("MAIL FROM:<ann@client.example>");
    });
    CHECK(first.starts_with("451 4.3.0"));
    CHECK(then.starts_with("451 4.3.0"));
    CHECK(worker.submitted.empty());
    CHECK(worker.trouble.starts_with("the spool cannot be written"));
}

TEST_CASE("sessions over the limits are told, and leave room when they go") {
    Worker worker([](config::Config& config) { config.smtpd.sessions_per_network = 2; });
    std::string extra, later;
    worker.with([&] {
        Client one(worker.port), two(worker.port);
        one.reply();
        two.reply();
        extra = Client(worker.port).reply();
        one.say("QUIT");
        worker.wait_logged("disconnect from");
        later = Client(worker.port).reply();
    });
    CHECK(extra.starts_with("421 4.7.0"));
    CHECK(later.starts_with("220"));
}

TEST_CASE("a client that is gone leaves nothing") {
    Worker worker;
    worker.with([&] {
        Client client(worker.port);
        client.reply();
        client.say("EHLO c");
        client.say("MAIL FROM:<ann@client.example>");
        client.say("RCPT TO:<far@remote.example>");
        client.say("DATA");
        client.send("half a mess");
        client.close();
        worker.wait_logged("lost connection after DATA (11 bytes) from localhost[127.0.0.1]");
    });
    CHECK(worker.files().empty());
    CHECK(worker.submitted.empty());
}

TEST_CASE("stopping: who is in a transaction may finish it, nobody else comes in") {
    Worker worker;
    std::string idle, message, after, late;
    std::atomic<bool> done = false;
    worker.on_knock = [&] {
        worker.smtpd->stop(10s, [&] {
            done = true;
            done.notify_all();
        });
    };
    worker.with([&] {
        Client one(worker.port), two(worker.port);
        one.reply();
        two.reply();
        one.say("EHLO one");
        two.say("EHLO two");
        two.say("MAIL FROM:<ann@client.example>");
        worker.knock.signal();
        idle = one.reply();
        two.say("RCPT TO:<far@remote.example>");
        two.say("DATA");
        message = two.say("x\r\n.");
        after = two.reply();
        late = Client(worker.port).reply();
        done.wait(false);
    });
    CHECK(idle.starts_with("421 4.3.2"));
    CHECK(message.starts_with("250 2.0.0"));
    CHECK(after.starts_with("421 4.3.2"));
    CHECK(late == "");
    CHECK(done);
}

TEST_CASE("a client that reads nothing is let go, however much it was told") {
    Worker worker([](config::Config& config) {
        config.smtpd.command_timeout = 300ms;
        config.smtpd.commands = 1'000'000;
    });
    worker.with([&] {
        Client client(worker.port);
        client.reply();
        std::string noise;
        for (int i = 0; i < 20'000; ++i) noise += "HELP\r\n";
        for (int i = 0; i < 40; ++i) client.send_what_fits(noise);
        worker.wait_logged("disconnect from");
    });
}

TEST_CASE("hanging up behind the final dot costs neither the message nor the processor") {
    Worker worker;
    worker.with([&] {
        Client client(worker.port);
        client.reply();
        client.say("EHLO c");
        client.say("MAIL FROM:<ann@client.example>");
        client.say("RCPT TO:<far@remote.example>");
        client.say("DATA");
        client.send("x\r\n.\r\n");
        client.close();
        worker.wait_submitted(1);
    });
    CHECK(worker.submitted.size() == 1);
}

TEST_CASE("submission completes the header") {
    Worker worker({}, config::Service::submission);
    std::string reply;
    worker.with([&] {
        Client client(worker.port);
        client.reply();
        client.say("EHLO c");
        reply = deliver(client, "far@remote.example", "Subject: bare\r\nBcc: secret@x\r\n\r\nhello\r\n");
        worker.wait_submitted(1);
    });
    REQUIRE(reply.starts_with("250"));
    REQUIRE(worker.files().size() == 1);
    std::ifstream in(worker.files()[0]);
    std::ostringstream out;
    out << in.rdbuf();
    const auto file = out.str();
    const auto received = file.find("Received: from c (localhost [127.0.0.1])");
    CHECK(received != file.npos);
    for (auto field : {"\r\nDate: ", "\r\nMessage-ID: <", "\r\nFrom: ", "\r\nSubject: bare\r\n"}) {
        CHECK(file.find(field) != file.npos);
        CHECK(file.find(field) > received);
    }
    CHECK(file.find("secret@x") == file.npos);
    CHECK(file.find("\r\n\r\nhello\r\n") != file.npos);
    CHECK(worker.logged().find(reply.substr(24) + ": message-id=<20") != std::string::npos);
    CHECK(worker.logged().find(reply.substr(24) + "@here.example>") != std::string::npos);
}

TEST_CASE("a refusal of AUTH that comes at once, and QUIT behind it: one end") {
    Worker worker({}, config::Service::submission,
                  [](config::Listener& listener) { listener.auth = listener.auth_without_tls = true; });
    std::vector<std::string> said;
    worker.with([&] {
        Client client(worker.port), other(worker.port);
        client.reply();
        said.push_back(client.say("EHLO c"));
        client.send("AUTH PLAIN !\r\nQUIT\r\n");
        for (int i = 0; i < 3; ++i) said.push_back(client.reply());
        said.push_back(other.reply());
    });
    CHECK(said[0].find("AUTH ") != std::string::npos);
    CHECK(said[1] == "501 5.5.2 Error: malformed authentication response");
    CHECK(said[2].starts_with("221"));
    CHECK(said[3] == "");
    CHECK(said[4].starts_with("220"));
}

TEST_CASE("who authenticated before STARTTLS is nobody after it") {
    auth::Entry entry;
    entry.hash = auth::make_hash("secret");
    auto secrets = std::make_shared<proto::secrets::Secrets>();
    secrets->passwords = "ann:" + entry.text() + "\n";
    secrets->certificates = {tls::testing::make_certificate("mx.test", "DNS:mx.test")};
    Worker worker([](config::Config& config) { config.auth.mechanisms = {"SCRAM-SHA-256", "PLAIN"}; },
                  config::Service::submission,
                  [](config::Listener& listener) {
                      listener.auth = listener.auth_without_tls = true;
                      listener.tls = config::ListenerTls::offer;
                      listener.submitters.clear();
                  },
                  secrets);
    std::vector<std::string> said;
    worker.with([&] {
        Client client(worker.port);
        client.reply();
        client.say("EHLO c");
        said.push_back(client.say("AUTH PLAIN " + smtp::encode_base64(std::string("\0ann\0secret", 11))));
        said.push_back(client.say("STARTTLS"));
        const tls::SslContext context(SSL_CTX_new(TLS_client_method()));
        const std::unique_ptr<SSL, tls::Freeing<SSL_free>> ssl(SSL_new(context.get()));
        SSL_set_fd(ssl.get(), client.number());
        if (SSL_connect(ssl.get()) != 1) return;
        for (const std::string line : {"EHLO c\r\n", "MAIL FROM:<ann@here.example>\r\n",
                                       "AUTH SCRAM-SHA-256 eSwsbj1hbm4scj14\r\n"}) { // y,,n=ann,r=x
            SSL_write(ssl.get(), line.data(), static_cast<int>(line.size()));
            char space[1000];
            const int n = SSL_read(ssl.get(), space, sizeof space);
            said.emplace_back(space, static_cast<std::size_t>(std::max(n, 0)));
        }
    });
    REQUIRE(said.size() == 5);
    CHECK(said[0].starts_with("235"));
    CHECK(said[1].starts_with("220"));
    CHECK(said[2].starts_with("250"));
    CHECK(said[3] == "530 5.7.0 Authentication required\r\n");
    CHECK(said[4].starts_with("334 ")); // binding was not offered: who could bind may say so
}

// What a connection meets in its tests: servers that follow a script ("C:" what must come, a beginning of a line;
// "C: <message>" reads up to the final dot; "S:" what is answered; "tls" shakes hands; "close" hangs up), and an owner
// that writes down what it is told. Real files, real sockets on loopback.
#pragma once
#include "daemons/common/runtime/loop.h"
#include "daemons/smtp-client/session/connection.h"
#include "libspool/disk/commit_pool.h"
#include "libspool/disk/real_disk.h"
#include "libspool/message/message_writer.h"
#include "libspool/store/store.h"
#include "tests/temporary_directory.h"
#include <arpa/inet.h>
#include <atomic>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <netinet/in.h>
#include <sstream>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>

namespace smtp_client::testing {

using namespace std::chrono_literals;
namespace delivery = proto::delivery;

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
                while (secure->handshake() == tls::Session::Progress::wants_more) {
                    send(secure->output());
                    const auto sealed = receive();
                    if (sealed.empty()) return;
                    secure->feed(sealed);
                }
                buffer += opened(*secure); // what came with the handshake's end
                send(secure->output());
                resumed += secure->info().resumed;
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

inline std::string hello(std::string_view more = "S: 250-mx.test\nS: 250-PIPELINING\nS: 250 8BITMIME\n") {
    return "S: 220 mx.test\nC: EHLO client.test\n" + std::string(more);
}
inline const std::string transaction =
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
        context_.emplace(ClientContext{loop_,
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
        context_.reset();
    }

    ClientContext& context() { return *context_; }
    common::Loop& loop() { return loop_; }
    common::Log& log() { return log_; }

    spool::QueueId write(std::string_view content, std::vector<std::string> to = {"b@y"}) {
        spool::Envelope envelope;
        envelope.reverse_path = "a@x";
        envelope.require_tls = require_tls;
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
    // As the queue-manager writes it down.
    void record(spool::QueueId id, spool::Attempt attempt) {
        spool::Store store(*pool_);
        bool written = false;
        store.append(id, spool::Location::incoming, {std::move(attempt)}, spool::Sync::yes,
                     [&](auto result) { written = result.has_value(); });
        store.flush();
        pool_->drain();
        REQUIRE(written);
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
        order.secure = secure;
        order.sts = sts;
        order.arrived = order.queued = common::Loop::now().wall.time_since_epoch().count();
        connection_->deliver(std::move(order));
    }
    Connection& connect(std::vector<proto::route::Host> hosts, delivery::Connect order = {},
                        SessionObserver* observer = nullptr) {
        order.connection = 7;
        order.hosts = std::move(hosts);
        connection_.emplace(*context_, static_cast<Connection::Owner&>(*this), std::move(order), observer);
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
    bool require_tls = false;      // of the messages written
    bool secure = false;           // of the deliveries: DNSSEC vouches for their hosts
    proto::route::StsPolicy sts;   // … and the policy of their domain
    std::string unasked;           // an address: the queue-manager goes before it has answered about it
    std::set<std::string> crowded; // addresses that have all the connections they may have

private:
    void released(Connection&, const std::string&) override {}
    void may_connect(Connection& connection, const std::string& address, bool) override {
        if (address == unasked) return connection.close(Connection::NotStarted::drop);
        if (crowded.contains(address)) told += "no room at " + address + "\n";
        connection.permit(crowded.contains(address) ? Connection::Permit::at_limit : Connection::Permit::yes);
    }
    void connected(Connection&) override {
        told += "connected\n";
        on_connected();
    }
    void source_refused(Connection&, delivery::SourceRefused refused) override {
        told += "refused " + refused.source +
                (refused.by == delivery::SourceRefused::By::us     ? " (ours)"
                 : refused.by == delivery::SourceRefused::By::mail ? " (mail)"
                                                                   : "") +
                "\n";
    }
    void source_taken(Connection&, delivery::SourceAccepted taken) override { told += "taken " + taken.source + "\n"; }
    void done(Connection&, delivery::Done done, std::optional<spool::MessageReader>) override {
        told += "done " + std::to_string(done.delivery);
        if (!done.source.empty()) told += " from " + done.source;
        if (done.gone) told += " gone";
        if (done.unreadable) told += " unreadable";
        for (auto& r : done.results)
            told += " " + std::to_string(r.recipient) + "=" + std::to_string(static_cast<int>(r.outcome)) + ":" +
                    done.replies.at(r.reply).text + (done.replies.at(r.reply).in_doubt ? " (in doubt)" : "");
        told += "\n";
    }
    void closed(Connection&, delivery::Closed closed) override {
        told += closed.failed             ? "failed: " + closed.reason.text + "\n"
                : closed.at_address_limit ? "crowded\n"
                                          : "closed\n";
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
    std::optional<ClientContext> context_;
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

inline std::uint16_t closed_port() { return Server({}).port; }

} // namespace smtp_client::testing

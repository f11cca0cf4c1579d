// A whole worker on loopback: real sockets, real files, a queue-manager and a categorizer that are only
// voices; and a client that talks to it from a thread of its own.
#pragma once
#include "daemons/common/config/config.h"
#include "daemons/common/ipc/listener.h"
#include "daemons/common/net/local_socket.h"
#include "daemons/common/proto/recipient_check.h"
#include "daemons/common/proto/submission.h"
#include "daemons/common/runtime/wake.h"
#include "daemons/smtpd/smtpd.h"
#include "libspool/message/message_reader.h"
#include "libspool/store/store.h"
#include "tests/temporary_directory.h"
#include <arpa/inet.h>
#include <atomic>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <filesystem>
#include <netinet/in.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <thread>

namespace smtpd::testing {

namespace fs = std::filesystem;

inline common::Fd listening(int family, const sockaddr* address, socklen_t size) {
    common::Fd fd(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    REQUIRE(::bind(fd.number(), address, size) == 0);
    REQUIRE(::listen(fd.number(), 100) == 0);
    return fd;
}

inline common::Fd listening_at(const std::string& path) {
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
        timeval patience{60, 0}; // a hash of a password takes its time where everything is checked
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
    explicit Worker(std::function<void(config::Config&)> change = {}, config::Service service = config::Service::relay,
                    const std::function<void(config::Listener&)>& adjust = {},
                    std::shared_ptr<const proto::secrets::Message> secrets = {})
        : log(loop, "smtpd") {
        config.mta.hostname = "mx.test";
        config.mta.origin = "here.example";
        config.spool.directory = folder.path() / "spool";
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
        listener.limits = config.smtpd.limits;
        if (adjust) adjust(listener);
        config.listeners = {listener};
        auto opened = spool::RealDisk::open_at(config.spool.directory);
        REQUIRE(opened);
        disk = *std::move(opened);
        REQUIRE(spool::prepare_spool(*disk, {7}));
        common::LogSettings settings;
        log.configure(settings, common::Fd(::open((folder.path() / "log").c_str(),
                                                  O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600)));

        const auto run = (folder.path() / "spool/run").string();
        const ipc::ExpectedTokens expected{"secret", {proto::Role::smtpd}};
        const auto token = ipc::token_of(expected.key, proto::Role::smtpd, 7);
        queue_manager =
            std::make_unique<ipc::Listener>(loop, log, listening_at(run + "/private/queue-manager"), expected);
        queue_manager->serve<proto::submission::Message>(
            proto::submission::conversation, {proto::Role::smtpd},
            [this](ipc::Peer, std::unique_ptr<Submissions> channel) {
                submissions = std::move(channel);
                submissions->set_callbacks(
                    {[this](proto::submission::Message&& message) {
                         if (const auto* wish = std::get_if<proto::submission::FlushDomain>(&message)) {
                             auto answer = tried;
                             answer.request = wish->request;
                             wishes.push_back(*wish);
                             static_cast<void>(submissions->send(answer));
                             return;
                         }
                         if (const auto* event = std::get_if<proto::submission::DoorEvent>(&message))
                             door.push_back(*event);
                         if (const auto* files = std::get_if<proto::submission::FilesInUse>(&message))
                             files_in_use = files->files;
                         const auto* told = std::get_if<proto::submission::Submitted>(&message);
                         if (!told) return; // how it stands with the disk
                         submitted.push_back(*told);
                         ++heard;
                         heard.notify_all();
                         if (takes) submissions->send(proto::submission::Taken{submitted.back().queue_id});
                     },
                     [](const std::string&) {}});
            });
        categorizer = std::make_unique<ipc::Listener>(loop, log, listening_at(run + "/private/categorizer"), expected);
        categorizer->serve<proto::recipient_check::Message>(
            proto::recipient_check::conversation, {proto::Role::smtpd},
            [this](ipc::Peer, std::unique_ptr<Checks> channel) {
                checks = std::move(channel);
                checks->set_callbacks({[this](proto::recipient_check::Message&& message) {
                                           using namespace proto::recipient_check;
                                           const auto& check = std::get<proto::recipient_check::Check>(message);
                                           ++asked;
                                           const bool known = check.address.starts_with("bob@");
                                           Checked answer{check.request, known ? Verdict::known : Verdict::unknown,
                                                          known ? "" : "User unknown in local recipient table"};
                                           if (check.address.starts_with("later@"))
                                               answer = {check.request, Verdict::try_later, ""};
                                           static_cast<void>(checks->send(answer));
                                       },
                                       [](const std::string&) {}});
            });
        context = std::make_unique<common::DaemonContext>(common::DaemonContext{
            loop, log, ipc::Identity{proto::Role::smtpd, 7, {{"queue-manager", token}, {"categorizer", token}}}, run,
            [this](std::string_view text) { trouble = text; }});

        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        auto fd = listening(AF_INET, reinterpret_cast<sockaddr*>(&address), sizeof address);
        socklen_t size = sizeof address;
        ::getsockname(fd.number(), reinterpret_cast<sockaddr*>(&address), &size);
        port = ntohs(address.sin_port);
        common::DaemonConfig daemon_config{config, 1, {}, {}};
        daemon_config.secrets = std::move(secrets);
        daemon_config.listeners.push_back({"relay", "127.0.0.1", std::move(fd)});
        auto made = smtpd::Smtpd::create(*context, std::move(daemon_config));
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
    std::string logged() { return folder.text("log"); }
    // In the client's thread: until the log says it.
    void wait_logged(std::string_view text) {
        const common::Fd changes(::inotify_init1(IN_CLOEXEC));
        REQUIRE(::inotify_add_watch(changes.number(), (folder.path() / "log").c_str(), IN_MODIFY) >= 0);
        while (logged().find(text) == std::string::npos) {
            pollfd ready{changes.number(), POLLIN, 0};
            REQUIRE(::poll(&ready, 1, 60'000) == 1);
            char events[4096];
            static_cast<void>(::read(changes.number(), events, sizeof events));
        }
    }
    // The n-th message submitted.
    spool::MessageReader message(std::size_t n) {
        auto reader = spool::MessageReader::open(*disk, submitted.at(n).queue_id, spool::Location::incoming,
                                                 spool::ReadLock::none);
        REQUIRE(reader);
        return *std::move(reader);
    }
    std::vector<fs::path> files() {
        std::vector<fs::path> out;
        for (auto& entry : fs::directory_iterator(folder.path() / "spool/incoming/07"))
            if (entry.path().filename() != "writer") out.push_back(entry.path());
        return out;
    }

    TemporaryDirectory folder{"spool/run/private"};
    config::Config config;
    std::unique_ptr<spool::RealDisk> disk;
    common::Loop loop;
    common::Log log;
    std::unique_ptr<ipc::Listener> queue_manager, categorizer;
    std::unique_ptr<Submissions> submissions;
    std::unique_ptr<Checks> checks;
    std::unique_ptr<common::DaemonContext> context;
    std::unique_ptr<smtpd::Smtpd> smtpd;
    std::vector<proto::submission::Submitted> submitted;
    std::atomic<std::size_t> heard = 0; // of those
    bool takes = true;
    std::vector<spool::QueueId> files_in_use; // as named on the last connection
    std::vector<proto::submission::DoorEvent> door;
    std::vector<proto::submission::FlushDomain> wishes;
    proto::submission::DomainFlushed tried; // what all of them are answered
    int asked = 0;
    std::string trouble;
    std::uint16_t port = 0;
    std::function<void()> on_knock; // what the worker does when the client's thread knocks
    common::Wake knock{loop, [this] { on_knock(); }};
};

inline std::string deliver(Client& client, const std::string& to, const std::string& content) {
    client.say("MAIL FROM:<ann@client.example>");
    const auto rcpt = client.say("RCPT TO:<" + to + ">");
    if (!rcpt.starts_with("250")) return rcpt;
    client.say("DATA");
    return client.say(content + ".");
}

} // namespace smtpd::testing

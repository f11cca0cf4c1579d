// What a daemon could do that somebody has taken over: stands in a daemon's place, is started by master with that
// daemon's user, orders and tokens, is confined as it is, and then does what the test asks for over a socket beside the
// spool. It never does the daemon's own work. One command a line, its words parted by tabs; one line of answer: "ok",
// or the name of the error.
#include "daemons/common/config/config.h"
#include "daemons/common/ipc/frame.h"
#include "daemons/common/ipc/message.h"
#include "daemons/common/net/local_socket.h"
#include "daemons/common/net/network.h"
#include "daemons/common/process/daemon.h"
#include "daemons/common/proto/submit.h"
#include "daemons/common/submission/spool_writer.h"
#include "daemons/common/submission/submission_queue.h"
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <map>
#include <netinet/in.h>
#include <optional>
#include <poll.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using Words = std::vector<std::string>;
constexpr int patience_ms = 5000;

std::string outcome(long result) { return result >= 0 ? "ok" : strerrorname_np(errno); }
std::string opened(const std::string& path, int how) {
    const common::Fd fd(::open(path.c_str(), how | O_CLOEXEC, 0600));
    return outcome(fd.number());
}
int number(const std::string& word) { return std::atoi(word.c_str()); }

// Bytes that come within the patience, up to their end or to what `enough` says.
template <class Enough> std::string heard(int fd, Enough enough) {
    std::string out;
    for (;;) {
        pollfd ready{fd, POLLIN, 0};
        if (enough(out) || ::poll(&ready, 1, patience_ms) != 1) return out;
        char space[4096];
        const auto n = ::recv(fd, space, sizeof space, 0);
        if (n <= 0) return out;
        out.append(space, static_cast<std::size_t>(n));
    }
}
bool said(int fd, std::string_view bytes) {
    return ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}
template <class M> std::string frame(const auto& message) {
    std::string wire;
    const auto begun = ipc::begin_frame(wire);
    ipc::encode<M>(message, wire);
    ipc::end_frame(wire, begun);
    return wire;
}
// The first frame that is answered; nothing if the connection is closed instead.
std::optional<std::string> answer(int fd) {
    const auto bytes = heard(fd, [](const std::string& so_far) {
        ipc::FrameReader reader;
        reader.feed(so_far);
        return reader.next().has_value();
    });
    ipc::FrameReader reader;
    reader.feed(bytes);
    const auto one = reader.next();
    return one ? std::optional<std::string>(*one) : std::nullopt;
}

std::string in_a_child(const std::function<long()>& act) {
    const auto child = ::fork();
    if (child < 0) return outcome(-1);
    if (child == 0) ::_exit(act() >= 0 ? 0 : errno);
    int status = 0;
    ::waitpid(child, &status, 0);
    return WEXITSTATUS(status) == 0 ? "ok" : strerrorname_np(WEXITSTATUS(status));
}

// send PATH TEXT: a line over a local socket; what is answered.
std::string send_line(const Words& words) {
    auto fd = common::connect_local(words[1]);
    if (!fd) return strerrorname_np(fd.error().code);
    if (!said(fd->number(), words[2] + "\n")) return outcome(-1);
    return heard(fd->number(), [](const std::string& so_far) { return so_far.ends_with('\n'); });
}

std::string tcp(const Words& words) {
    const common::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd) return outcome(-1);
    sockaddr_in there{};
    there.sin_family = AF_INET;
    there.sin_port = htons(static_cast<std::uint16_t>(number(words[2])));
    const auto address = common::IpAddress::parse(words[1]);
    std::memcpy(&there.sin_addr, address->bytes.data() + 12, 4);
    return outcome(::connect(fd.number(), reinterpret_cast<const sockaddr*>(&there), sizeof there));
}

std::string abstract_socket(const Words& words) {
    const common::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un there{};
    there.sun_family = AF_UNIX;
    words[1].copy(there.sun_path + 1, sizeof there.sun_path - 1);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + words[1].size());
    return outcome(::connect(fd.number(), reinterpret_cast<const sockaddr*>(&there), size));
}

std::string replaced_socket(const Words& words) {
    const auto fd = common::listen_local(words[1], 0666);
    return fd ? "ok" : strerrorname_np(fd.error().code);
}

std::string owner_of_signals(const Words& words) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return outcome(-1);
    const common::Fd one(ends[0]), other(ends[1]);
    return outcome(::fcntl(one.number(), F_SETOWN, number(words[1])));
}

// import PATH ADDRESS USER TARGET: a message with its state, handed to pickup.
std::string import(const Words& words) {
    using namespace proto::submit;
    auto fd = common::connect_local(words[1]);
    if (!fd) return strerrorname_np(fd.error().code);
    ::fcntl(fd->number(), F_SETFL, 0);
    spool::Envelope envelope;
    envelope.recipients.push_back(
        {.address = words[2], .fate = spool::Fate::local, .user = words[3], .target = words[4]});
    Import first;
    first.piece = spool::encode(envelope);
    said(fd->number(),
         frame<Message>(first) + frame<Message>(Content{"Subject: x\r\n\r\nx\r\n"}) + frame<Message>(End{}));
    const auto bytes = answer(fd->number());
    if (!bytes) return "closed";
    const auto message = ipc::decode<Message>(*bytes);
    const auto* told = message ? std::get_if<Answer>(&*message) : nullptr;
    return told ? fmt::format("{} {}", told->status, told->text) : "closed";
}

class Attacker final : public common::Daemon {
public:
    Attacker(common::DaemonContext& around, common::DaemonConfig daemon_config, common::Fd test)
        : context_(around), config_(daemon_config.config), test_(std::move(test)),
          poll_(common::make_poll(around.loop.uv(), this, test_.number())) {
        for (auto& each : daemon_config.listeners) listeners_.push_back(std::move(each.fd)); // who connects there waits
        tell(fmt::format("{} {} {}", proto::name_of(around.identity.role), around.instance(), ::getpid()));
        uv_poll_start(poll_.get(), UV_READABLE,
                      [](uv_poll_t* poll, int, int) { common::owner_of<Attacker>(poll)->listen(); });
    }
    void reconfigure(common::DaemonConfig) override {}
    void stop(smtp::Duration, std::function<void()> done) override { done(); }

private:
    void tell(const std::string& line) { said(test_.number(), line + "\n"); }
    void listen() {
        char space[4096];
        const auto n = ::recv(test_.number(), space, sizeof space, 0);
        if (n <= 0) return static_cast<void>(uv_poll_stop(poll_.get()));
        heard_.append(space, static_cast<std::size_t>(n));
        for (auto end = heard_.find('\n'); end != heard_.npos; end = heard_.find('\n')) {
            const auto line = heard_.substr(0, end);
            heard_.erase(0, end + 1);
            Words words;
            for (std::size_t at = 0; at <= line.size();) {
                const auto tab = std::min(line.find('\t', at), line.size());
                words.push_back(line.substr(at, tab - at));
                at = tab + 1;
            }
            act(words);
        }
    }

    void act(const Words& w) {
        const std::map<std::string, std::function<std::string()>> means = {
            {"read", [&] { return opened(w[1], O_RDONLY); }},
            {"write", [&] { return opened(w[1], O_WRONLY); }},
            {"create", [&] { return opened(w[1], O_WRONLY | O_CREAT | O_EXCL); }},
            {"empty", [&] { return opened(w[1], O_RDONLY | O_TRUNC); }},
            {"truncate", [&] { return outcome(::truncate(w[1].c_str(), 0)); }},
            {"chmod", [&] { return outcome(::chmod(w[1].c_str(), 0666)); }},
            {"unlink", [&] { return outcome(::unlink(w[1].c_str())); }},
            {"connect",
             [&] {
                 const auto fd = common::connect_local(w[1]);
                 return std::string(fd ? "ok" : strerrorname_np(fd.error().code));
             }},
            {"abstract", [&] { return abstract_socket(w); }},
            {"listen", [&] { return replaced_socket(w); }},
            {"send", [&] { return send_line(w); }},
            {"hello", [&] { return hello(w); }},
            {"import", [&] { return import(w); }},
            {"tcp", [&] { return tcp(w); }},
            {"udp", [] { return outcome(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)); }},
            {"socket", [&] { return outcome(::socket(number(w[1]), number(w[2]), number(w[3]))); }},
            {"kill", [&] { return outcome(::kill(number(w[1]), 0)); }},
            {"own", [&] { return owner_of_signals(w); }},
            {"trace", [&] { return outcome(::ptrace(PTRACE_SEIZE, number(w[1]), nullptr, nullptr)); }},
            {"execute",
             [&] {
                 ::execl(w[1].c_str(), w[1].c_str(), nullptr);
                 return outcome(-1);
             }},
            {"fork", [] { return in_a_child([] { return 0; }); }},
            {"namespace", [] { return outcome(::unshare(CLONE_NEWUSER)); }},
            {"call", [&] { return outcome(::syscall(seccomp_syscall_resolve_name(w[1].c_str()), 0, 0, 0, 0, 0, 0)); }},
        };
        if (w[0] == "forge") return forge(w);
        const auto found = means.find(w[0]);
        tell(found == means.end() ? "unknown" : found->second());
    }

    // hello PATH CONVERSATION ROLE INSTANCE SERVER: with the token that is meant for that server.
    std::string hello(const Words& w) const {
        auto fd = common::connect_local(w[1]);
        if (!fd) return strerrorname_np(fd.error().code);
        proto::hello::Hello hello{w[2], proto::version, proto::Role::master, static_cast<std::uint32_t>(number(w[4])),
                                  context_.identity.token_for(w[5])};
        for (int i = 0; i <= static_cast<int>(proto::Role::last_); ++i)
            if (proto::name_of(static_cast<proto::Role>(i)) == w[3]) hello.role = static_cast<proto::Role>(i);
        ::fcntl(fd->number(), F_SETFL, 0);
        said(fd->number(), frame<proto::hello::Message>(hello));
        const auto bytes = answer(fd->number());
        if (!bytes) return "closed";
        const auto message = ipc::decode<proto::hello::Message>(*bytes);
        return message && std::holds_alternative<proto::hello::Welcome>(*message) ? "welcome" : "odd";
    }

    // forge ADDRESS USER TARGET: a message whose envelope says who serves its recipient, committed and announced as a
    // writer does, with an envelope in the announcement that says nothing of the kind. The answer is its id.
    void forge(const Words& w) {
        if (!spool_writer_) {
            auto spool_writer = common::SpoolWriter::open(
                context_.loop, context_.log, config_.spool, static_cast<std::uint8_t>(context_.instance()),
                [](std::string_view) {}, context_.metrics, common::MailSource::smtp);
            if (!spool_writer) return tell(spool_writer.error().what);
            spool_writer_ = *std::move(spool_writer);
            submission_queue_.emplace(context_.loop, context_.log, context_.run_directory, context_.identity,
                                      spool_writer_->reusable_files());
        }
        const auto id = spool_writer_->admit(0, common::Loop::now());
        if (!id) return tell("full");
        spool::Envelope envelope;
        envelope.arrival = common::Loop::now().wall;
        envelope.recipients.push_back({.address = w[1]});
        const auto harmless = spool::encode(envelope);
        envelope.recipients[0].fate = spool::Fate::local;
        envelope.recipients[0].user = w[2];
        envelope.recipients[0].target = w[3];
        writer_.emplace(spool_writer_->write(*id, envelope));
        writer_->append("Subject: forged\r\n\r\nx\r\n");
        spool_writer_->commit(*writer_, [this, id = *id, harmless](spool::Result<spool::DurableReceipt> receipt) {
            if (!receipt) return tell(receipt.error().what);
            submission_queue_->submit(*receipt, harmless);
            tell(id.text());
        });
    }

    common::DaemonContext& context_;
    const config::Config config_;
    common::Fd test_;
    common::Handle<uv_poll_t> poll_;
    std::vector<common::Fd> listeners_;
    std::string heard_;
    std::unique_ptr<common::SpoolWriter> spool_writer_;
    std::optional<common::SubmissionQueue> submission_queue_;
    std::optional<spool::MessageWriter> writer_;
};

} // namespace

int main(int, char** arguments) {
    const std::string_view self = arguments[0];
    const auto name = self.substr(self.rfind('/') + 1);
    for (int i = 0; i <= static_cast<int>(proto::Role::last_); ++i)
        if (proto::name_of(static_cast<proto::Role>(i)) == name)
            return common::run_daemon(
                static_cast<proto::Role>(i), name,
                [](common::DaemonContext& around,
                   common::DaemonConfig daemon_config) -> spool::Result<std::unique_ptr<common::Daemon>> {
                    auto test = TRY(common::connect_local(daemon_config.config.spool.directory + "/../attacker"));
                    return std::make_unique<Attacker>(around, std::move(daemon_config), std::move(test));
                });
    return 64;
}

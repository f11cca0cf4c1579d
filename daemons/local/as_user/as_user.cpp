#include "daemons/local/as_user/as_user.h"
#include <algorithm>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace local::as_user {

using common::Fd;
using spool::Error;
using spool::Result;

Result<pid_t> start_process(std::string_view work, std::initializer_list<int> descriptors) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    int place = 0;
    for (const int fd : descriptors) posix_spawn_file_actions_adddup2(&actions, fd, place++);
    std::string name = "postrider-local", first(option), second(work);
    char* const arguments[] = {name.data(), first.data(), second.data(), nullptr};
    auto variables = common::minimal_environment();
    std::vector<char*> environment;
    for (std::string& variable : variables) environment.push_back(variable.data());
    environment.push_back(nullptr);
    pid_t pid = 0;
    const int failed = posix_spawn(&pid, "/proc/self/exe", &actions, nullptr, arguments, environment.data());
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) return std::unexpected(Error::from_errno("start a delivering process", failed));
    return pid;
}

Result<std::pair<Fd, Fd>> socket_pair() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return std::unexpected(Error::from_errno("create a socket pair"));
    return std::pair{Fd(ends[0]), Fd(ends[1])};
}

UserIdentity identity_of(const common::Identity& user) {
    return {user.name, user.home, user.uid, user.gid, {user.groups.begin(), user.groups.end()}, true};
}

Result<> become(const UserIdentity& person) {
    if (!person.change) return {};
    if (person.uid == 0) return std::unexpected(Error{EPERM, "mail is never delivered as root"});
    return common::become(
        {person.uid, person.gid, {person.groups.begin(), person.groups.end()}, person.name, person.home});
}

Result<Fd> set_up_process(int at) {
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); // a file grown too large is an error of write(2)
    umask(0007);              // mailboxes are 0600 or 0660, as they ask for
    if (chdir("/") != 0) return std::unexpected(Error::from_errno("go to /"));
    // Out of the way of what libraries may do with the standard descriptors.
    Fd control(fcntl(at, F_DUPFD_CLOEXEC, 3));
    if (!control) return std::unexpected(Error::from_errno("keep the control socket"));
    return control;
}

namespace {

// The time there is for one step, in ms of the steady clock.
class Step {
public:
    explicit Step(int patience) : ends_(patience < 0 ? -1 : now() + patience) {}
    // Until the descriptor is ready. Error ETIMEDOUT.
    Result<> wait(int fd, short events) const {
        while (true) {
            pollfd ready{fd, events, 0};
            const int found =
                poll(&ready, 1, ends_ < 0 ? -1 : static_cast<int>(std::max<std::int64_t>(0, ends_ - now())));
            if (found > 0) return {};
            if (found == 0) return std::unexpected(Error{ETIMEDOUT, "the delivering process does not answer"});
            if (errno != EINTR) return std::unexpected(Error::from_errno("wait for the delivering process"));
        }
    }

private:
    static std::int64_t now() {
        using namespace std::chrono;
        return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
    }
    std::int64_t ends_;
};

} // namespace

Result<> FrameSocket::send(std::string_view rest, int patience) {
    const Step step(patience);
    while (!rest.empty()) {
        const ssize_t n = ::send(fd_.number(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno != EAGAIN) return std::unexpected(Error::from_errno("write to the delivering process"));
        if (n < 0)
            TRY(step.wait(fd_.number(), POLLOUT));
        else
            rest.remove_prefix(static_cast<std::size_t>(n));
    }
    return {};
}

Result<std::string_view> FrameSocket::frame(int patience) {
    const Step step(patience);
    while (true) {
        if (auto frame = reader_.next()) return *frame;
        if (reader_.broken()) return std::unexpected(Error{EPROTO, "delivering process: malformed frame"});
        reader_.keep();
        TRY(step.wait(fd_.number(), POLLIN));
        buffer_.resize(64 * 1024);
        const ssize_t n = recv(fd_.number(), buffer_.data(), buffer_.size(), 0);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return std::unexpected(Error::from_errno("read from the delivering process"));
        if (n == 0) return std::unexpected(Error{EPIPE, "the delivering process has exited"});
        reader_.feed({buffer_.data(), static_cast<std::size_t>(n)});
    }
}

} // namespace local::as_user

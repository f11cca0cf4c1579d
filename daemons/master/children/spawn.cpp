#include "daemons/master/children/spawn.h"
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace master {

namespace {

std::vector<char*> pointers(const std::vector<std::string>& words) {
    std::vector<char*> out;
    for (const auto& word : words) out.push_back(const_cast<char*>(word.c_str()));
    out.push_back(nullptr);
    return out;
}

// In the child; never returns. Every other descriptor of ours is close-on-exec.
[[noreturn]] void run(const Program& program, int link, char** arguments, char** environment) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    for (int number : {SIGPIPE, SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1}) std::signal(number, SIG_DFL);
    if (link == 3 ? fcntl(link, F_SETFD, 0) < 0 : dup2(link, 3) < 0) _exit(71);
    if (program.errors >= 0) {
        const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (nowhere < 0 || dup2(nowhere, 0) < 0 || dup2(nowhere, 1) < 0 || dup2(program.errors, 2) < 0) _exit(71);
    }
    if (program.user)
        if (auto became = common::become(*program.user); !became) {
            std::fprintf(stderr, "%s: %s\n", program.path.c_str(), became.error().what.c_str());
            _exit(77);
        }
    if (!program.may_gain_rights && !common::no_new_privileges()) _exit(71);
    execve(program.path.c_str(), arguments, environment);
    std::perror(program.path.c_str());
    _exit(127);
}

} // namespace

spool::Result<Spawned> spawn(const Program& program) {
    if (access(program.path.c_str(), X_OK) != 0) return std::unexpected(spool::Error::from_errno(program.path));
    std::vector<std::string> words = {program.path};
    words.insert(words.end(), program.arguments.begin(), program.arguments.end());
    const auto bare = common::minimal_environment();
    auto arguments = pointers(words), environment = pointers(bare);
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return std::unexpected(spool::Error::from_errno("create a socket pair"));
    common::Fd ours(ends[0]), theirs(ends[1]);
    const pid_t pid = fork();
    if (pid < 0) return std::unexpected(spool::Error::from_errno("fork"));
    if (pid == 0)
        run(program, theirs.number(), arguments.data(), program.own_environment ? environ : environment.data());
    return Spawned{pid, std::move(ours)};
}

} // namespace master

#include "daemons/master/secrets/command_output.h"
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace master {

namespace {

// In the child; never returns. Every descriptor above 2 is close-on-exec.
[[noreturn]] void become_command(const char* command, int output, const common::Identity* user, char** environment) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    for (int number : {SIGPIPE, SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1}) std::signal(number, SIG_DFL);
    setsid();
    umask(0077);
    const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    // What it complains of may hold secrets: it is for its own log, not for ours.
    if (nowhere < 0 || dup2(nowhere, 0) < 0 || dup2(output, 1) < 0 || dup2(nowhere, 2) < 0) _exit(71);
    if (user && !common::become(*user)) _exit(77);
    if (!common::no_new_privileges() || chdir("/") != 0) _exit(71);
    const char* const words[] = {"/bin/sh", "-c", command, nullptr};
    execve("/bin/sh", const_cast<char**>(words), environment);
    _exit(127);
}

} // namespace

spool::Result<std::unique_ptr<CommandOutput>> CommandOutput::run(common::Loop& loop, const std::string& command,
                                                                 const common::Identity* user, Done done) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return std::unexpected(spool::Error::from_errno("create a pipe"));
    common::Fd ours(ends[0]), theirs(ends[1]);
    fcntl(ours.number(), F_SETFL, O_NONBLOCK);
    auto bare = common::minimal_environment();
    if (user) bare.push_back("HOME=" + user->home);
    std::vector<char*> environment;
    for (auto& each : bare) environment.push_back(each.data());
    environment.push_back(nullptr);
    const pid_t pid = fork();
    if (pid < 0) return std::unexpected(spool::Error::from_errno("fork"));
    if (pid == 0) become_command(command.c_str(), theirs.number(), user, environment.data());
    return std::unique_ptr<CommandOutput>(new CommandOutput(loop, pid, std::move(ours), std::move(done)));
}

CommandOutput::CommandOutput(common::Loop& loop, pid_t pid, common::Fd output, Done done)
    : pid_(pid), output_(std::move(output)), done_(std::move(done)),
      poll_(common::make_poll(loop.uv(), this, output_.number())),
      bound_(loop, [this] { kill(fmt::format("it did not end within {} s", time_limit / std::chrono::seconds(1))); }) {
    uv_poll_start(poll_.get(), UV_READABLE | UV_DISCONNECT, [](uv_poll_t* poll, int, int) {
        if (auto* self = common::owner_of<CommandOutput>(poll)) self->read();
    });
    bound_.start(time_limit);
}

CommandOutput::~CommandOutput() {
    if (!ended_) ::kill(-pid_, SIGKILL);
    explicit_bzero(text_.data(), text_.size());
}

void CommandOutput::read() {
    char space[4096];
    const auto n = ::read(output_.number(), space, sizeof space);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n > 0 && text_.size() + static_cast<std::size_t>(n) > size_limit)
        return kill(fmt::format("it printed more than {} bytes", size_limit));
    if (n > 0) {
        text_.reserve(size_limit); // no copies are left behind
        text_.append(space, static_cast<std::size_t>(n));
        explicit_bzero(space, sizeof space);
        return;
    }
    at_end_ = true;
    poll_.reset();
    finish_if_over();
}

void CommandOutput::kill(std::string why) {
    problem_ = std::move(why);
    poll_.reset();
    at_end_ = true; // whatever it left behind may hold the pipe for ever
    ::kill(-pid_, SIGKILL);
    finish_if_over();
}

void CommandOutput::abandon() {
    done_ = [](smtp::Secret, const std::string&) {};
    kill("it is no longer needed");
}

void CommandOutput::has_ended(int status) {
    ended_ = true;
    if (problem_.empty() && WIFSIGNALED(status)) problem_ = fmt::format("it was ended by signal {}", WTERMSIG(status));
    if (problem_.empty() && WEXITSTATUS(status) != 0)
        problem_ = fmt::format("it ended with status {}", WEXITSTATUS(status));
    finish_if_over();
}

void CommandOutput::finish_if_over() {
    if (!ended_ || !at_end_) return;
    bound_.stop();
    smtp::Secret output(text_);
    explicit_bzero(text_.data(), text_.size());
    const auto done = std::move(done_);
    const auto problem = std::move(problem_);
    done(std::move(output), problem);
}

} // namespace master

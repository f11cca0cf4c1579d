#include "daemons/master/children/sink_commands.h"
#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace master {

namespace {

std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> out;
    for (auto& word : words) out.push_back(word.data());
    out.push_back(nullptr);
    return out;
}

// In the child; never returns. Every descriptor above 2 is close-on-exec.
[[noreturn]] void become_command(char** arguments, int input, int output, int errors, const common::Identity* user,
                                 char** environment) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    for (int number : {SIGPIPE, SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1}) std::signal(number, SIG_DFL);
    setsid();
    umask(0077);
    if (dup2(input, 0) < 0 || dup2(output, 1) < 0 || (errors >= 0 && dup2(errors, 2) < 0)) _exit(71);
    if (user != nullptr && !common::become(*user)) _exit(77);
    if (!common::no_new_privileges() || chdir("/") != 0) _exit(71);
    execve(arguments[0], arguments, environment);
    _exit(127);
}

struct Pipe {
    common::Fd read, write;
};

spool::Result<Pipe> make_pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return std::unexpected(spool::Error::from_errno("create a pipe"));
    return Pipe{common::Fd(ends[0]), common::Fd(ends[1])};
}

} // namespace

SinkCommands::~SinkCommands() {
    for (const auto& [pid, hook] : running_) ::kill(-pid, SIGKILL);
}

void SinkCommands::use(const std::vector<config::Hook>& hooks) {
    std::map<std::string, std::vector<std::string>> commands;
    for (const auto& hook : hooks)
        if (!hook.command.empty()) commands[hook.name] = hook.command;
    for (const auto& [name, command] : commands_)
        if (const auto fresh = commands.find(name); fresh == commands.end() || fresh->second != command) kill(name);
    commands_ = std::move(commands);
}

// Its process group, once it has made one; before, the process.
void SinkCommands::kill(const std::string& hook) {
    for (const auto& [pid, name] : running_)
        if (name == hook && ::kill(-pid, SIGKILL) != 0) ::kill(pid, SIGKILL);
}

spool::Result<SinkCommands::Pipes> SinkCommands::start(const std::string& hook, int errors) {
    kill(hook);
    const auto found = commands_.find(hook);
    if (found == commands_.end())
        return std::unexpected(spool::Error{ENOENT, fmt::format("hook {} has no command", hook)});
    auto words = found->second;
    if (access(words.front().c_str(), X_OK) != 0) return std::unexpected(spool::Error::from_errno(words.front()));
    auto input = TRY(make_pipe()), output = TRY(make_pipe());
    auto bare = common::minimal_environment();
    if (user_ != nullptr) bare.push_back("HOME=" + user_->home);
    const auto arguments = pointers(words), environment = pointers(bare);
    const pid_t pid = fork();
    if (pid < 0) return std::unexpected(spool::Error::from_errno("fork"));
    if (pid == 0)
        become_command(const_cast<char**>(arguments.data()), input.read.number(), output.write.number(), errors, user_,
                       const_cast<char**>(environment.data()));
    running_[pid] = hook;
    return Pipes{std::move(input.write), std::move(output.read)};
}

std::vector<pid_t> SinkCommands::running() const {
    std::vector<pid_t> pids;
    for (const auto& [pid, hook] : running_) pids.push_back(pid);
    return pids;
}

void SinkCommands::has_ended(pid_t pid) { running_.erase(pid); }

} // namespace master

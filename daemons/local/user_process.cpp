#include "daemons/local/user_process.h"
#include "daemons/common/ipc/message.h"
#include <cerrno>
#include <chrono>
#include <csignal>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace local {

using common::Fd;
using spool::Error;
using spool::Result;

namespace user_process {

template <class M> Result<> Line::say(const M& message) {
    std::string wire;
    const auto begun = ipc::begin_frame(wire);
    ipc::encode<Message>(message, wire);
    if (!ipc::end_frame(wire, begun)) return std::unexpected(Error{EMSGSIZE, "a frame is too long"});
    for (std::string_view rest = wire; !rest.empty();) {
        const ssize_t n = send(fd_.number(), rest.data(), rest.size(), MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return std::unexpected(Error::from_errno("talk to the delivering process"));
        rest.remove_prefix(static_cast<std::size_t>(n));
    }
    return {};
}

Result<Message> Line::hear(int patience) {
    while (true) {
        if (auto frame = reader_.next()) {
            auto message = ipc::decode<Message>(*frame);
            if (!message) return std::unexpected(Error{EPROTO, "delivering process: " + message.error().why});
            return *std::move(message);
        }
        if (reader_.broken()) return std::unexpected(Error{EPROTO, "delivering process: broken frame"});
        reader_.keep();
        pollfd readable{fd_.number(), POLLIN, 0};
        const int ready = poll(&readable, 1, patience);
        if (ready < 0 && errno == EINTR) continue;
        if (ready == 0) return std::unexpected(Error{ETIMEDOUT, "the delivering process does not answer"});
        buffer_.resize(64 * 1024);
        const ssize_t n = recv(fd_.number(), buffer_.data(), buffer_.size(), 0);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return std::unexpected(Error::from_errno("hear the delivering process"));
        if (n == 0) return std::unexpected(Error{EPIPE, "the delivering process has gone"});
        reader_.feed({buffer_.data(), static_cast<std::size_t>(n)});
    }
}

} // namespace user_process

using namespace user_process;

// ---- the daemon's side ----

UserProcess::UserProcess(common::Identity user, Letter letter)
    : user_(std::move(user)), letter_(std::move(letter)) {}

UserProcess::~UserProcess() {
    line_.reset(); // it notices, and gives up what it has not committed
    if (pid_ == 0) return;
    int status;
    for (int i = 0; i < 100; ++i) { // a second to tidy up
        if (waitpid(pid_, &status, WNOHANG) != 0) return;
        poll(nullptr, 0, 10);
    }
    kill(pid_, SIGKILL);
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
}

Result<> UserProcess::start() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return std::unexpected(Error::from_errno("make a socket pair"));
    line_.emplace(Fd(ends[0]));
    const Fd theirs(ends[1]);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, theirs.number(), 0);
    std::string name = "postrider-local", option = as_user_option;
    char* const arguments[] = {name.data(), option.data(), nullptr};
    auto variables = common::bare_environment();
    std::vector<char*> environment;
    for (std::string& variable : variables) environment.push_back(variable.data());
    environment.push_back(nullptr);
    const int failed = posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, arguments, environment.data());
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) {
        pid_ = 0;
        return std::unexpected(Error::from_errno("start a delivering process", failed));
    }
    return {};
}

Verdict UserProcess::lost(const Error& error) { return verdict_of(Error{0, error.what}); }

std::optional<Verdict> UserProcess::open() {
    if (auto started = start(); !started) return lost(started.error());
    Begin begin{user_.name, user_.home, user_.uid, user_.gid, {user_.groups.begin(), user_.groups.end()},
                letter_};
    if (auto said = line_->say(begin); !said) return lost(said.error());
    const int patience = static_cast<int>(letter_.lock_timeout / 1000) + 60'000;
    const auto heard = line_->hear(patience);
    if (!heard) return lost(heard.error());
    if (std::holds_alternative<Opened>(*heard)) return {};
    if (const auto* ended = std::get_if<Ended>(&*heard)) return ended->verdict;
    return lost(Error{EPROTO, "the delivering process makes no sense"});
}

std::optional<Verdict> UserProcess::write(std::string_view content) {
    while (!content.empty()) {
        const std::string_view piece = content.substr(0, 256 * 1024);
        content.remove_prefix(piece.size());
        if (line_->say(Piece{std::string(piece)})) continue;
        // It ended before all was said: why lies in the socket.
        const auto heard = line_->hear(60'000);
        if (!heard) return lost(heard.error());
        const auto* ended = std::get_if<Ended>(&*heard);
        return ended ? ended->verdict : lost(Error{EPROTO, "the delivering process makes no sense"});
    }
    return {};
}

Verdict UserProcess::commit() {
    (void)line_->say(Commit{}); // if it has gone, the answer says why
    const auto heard = line_->hear(10 * 60'000);
    if (!heard) return lost(heard.error());
    const auto* ended = std::get_if<Ended>(&*heard);
    return ended ? ended->verdict : lost(Error{EPROTO, "the delivering process makes no sense"});
}

// ---- the process's side ----

namespace {

Verdict deliver_as_user(Line& line) {
    auto first = line.hear(60'000);
    const auto* begin = first ? std::get_if<Begin>(&*first) : nullptr;
    if (!begin) return verdict_of(Error{EPROTO, "the delivering process was not told what to do"});
    if (begin->uid == 0) return verdict_of(Error{EPERM, "mail is never delivered as root"});
    const common::Identity user{
        begin->uid, begin->gid, {begin->groups.begin(), begin->groups.end()}, begin->user, begin->home};
    if (auto became = common::become(user); !became) return verdict_of(became.error());
    if (auto settled = common::no_new_privileges(); !settled) return verdict_of(settled.error());
    const auto mailbox = open_mailbox(begin->letter);
    if (auto verdict = mailbox->open()) return *verdict;
    if (auto said = line.say(Opened{}); !said) return verdict_of(said.error());
    while (true) {
        const auto heard = line.hear(-1);
        if (!heard) return verdict_of(heard.error()); // the daemon has gone: nothing is kept
        if (std::holds_alternative<Commit>(*heard)) return mailbox->commit();
        const auto* piece = std::get_if<Piece>(&*heard);
        if (!piece) return verdict_of(Error{EPROTO, "unexpected word from the daemon"});
        if (auto verdict = mailbox->write(piece->content)) return *verdict;
    }
}

} // namespace

int run_as_user() {
    signal(SIGPIPE, SIG_IGN);
    umask(0007); // mailboxes are 0600 or 0660, as they ask for
    if (chdir("/") != 0) return 1;
    // Out of the way of what keep_standard_descriptors() and libraries may do with 0.
    const int fd = dup(0);
    if (fd < 0) return 1;
    Line line{Fd(fd)};
    const Verdict verdict = deliver_as_user(line);
    return line.say(Ended{verdict}) ? 0 : 1;
}

} // namespace local

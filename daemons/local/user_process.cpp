#include "daemons/local/user_process.h"
#include <cerrno>
#include <csignal>
#include <poll.h>
#include <sys/wait.h>

namespace local {

using spool::Error;
using spool::Result;

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
    auto [ours, theirs] = TRY(as_user::socket_pair());
    line_.emplace(std::move(ours));
    pid_ = TRY(as_user::start("mailbox", {theirs.number()}));
    return {};
}

Verdict UserProcess::lost(const Error& error) { return verdict_of(Error{0, error.what}); }

std::optional<Verdict> UserProcess::open() {
    if (auto started = start(); !started) return lost(started.error());
    if (auto said = line_->say(Begin{as_user::person_of(user_), letter_}); !said) return lost(said.error());
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
    if (auto became = as_user::become(begin->person); !became) return verdict_of(became.error());
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

int write_mailbox_as_user() {
    auto control = as_user::settle(0);
    if (!control) return 1;
    Line line(std::move(*control));
    const Verdict verdict = deliver_as_user(line);
    return line.say(Ended{verdict}) ? 0 : 1;
}

} // namespace local

#include "daemons/local/as_user/user_process.h"
#include "daemons/local/mailbox/files.h"
#include <cerrno>
#include <fmt/format.h>
#include <sys/stat.h>

namespace local {

using spool::Error;
using spool::Result;

using namespace user_process;

// ---- the daemon's side ----

namespace {

constexpr int tidying_up = 1000; // ms that a process has that is no longer wanted

} // namespace

UserProcess::UserProcess(Begin begin, smtp::Duration timeout, UnreapedProcesses& unreaped)
    : begin_(std::move(begin)), timeout_(static_cast<int>(timeout.count() / 1000)),
      child_(begin_.person.name, unreaped) {}

UserProcess::~UserProcess() {
    socket_.reset(); // it notices, and gives up what it has not committed
    if (child_.running()) child_.wait(tidying_up);
}

// Of this user's processes, not of the message: the next one would fare alike.
Verdict UserProcess::failure_of(const Error& error) {
    const auto text = error.code == ETIMEDOUT
                          ? fmt::format("the process that delivers as user {} did not answer for {} s and was killed",
                                        begin_.person.name, timeout_ / 1000)
                          : error.what;
    return of_mailbox(deferred("4.3.0", text));
}

std::optional<Verdict> UserProcess::answer(int patience) {
    const auto heard = socket_->receive(patience);
    if (!heard) return failure_of(heard.error());
    if (std::holds_alternative<Opened>(*heard)) return {};
    if (const auto* ended = std::get_if<Ended>(&*heard)) return ended->verdict;
    return failure_of(Error{EPROTO, "invalid message from the delivering process"});
}

std::optional<Verdict> UserProcess::open() {
    auto sockets = as_user::socket_pair();
    if (!sockets) return verdict_of(Error{0, sockets.error().what});
    if (auto started = child_.start("mailbox", {sockets->second.number()}); !started)
        return started.error().code == EBUSY ? failure_of(started.error()) : verdict_of(Error{0, started.error().what});
    socket_.emplace(std::move(sockets->first));
    sockets->second.reset();
    if (auto said = socket_->send(begin_, timeout_); !said) return failure_of(said.error());
    return answer(static_cast<int>(begin_.request.lock_timeout / 1000) + timeout_);
}

std::optional<Verdict> UserProcess::write(std::string_view content) {
    while (!content.empty()) {
        const std::string_view piece = content.substr(0, 256 * 1024);
        content.remove_prefix(piece.size());
        const auto said = socket_->send(Piece{std::string(piece)}, timeout_);
        if (said) continue;
        if (said.error().code == ETIMEDOUT) return failure_of(said.error());
        // It ended before all was said: why lies in the socket.
        if (auto verdict = answer(timeout_)) return verdict;
        return failure_of(Error{EPROTO, "invalid message from the delivering process"});
    }
    return {};
}

Verdict UserProcess::commit() {
    (void)socket_->send(Commit{}, timeout_); // if it has gone, the answer says why
    const auto heard = socket_->receive(timeout_);
    const auto* ended = heard ? std::get_if<Ended>(&*heard) : nullptr;
    if (ended) return ended->verdict;
    auto verdict = failure_of(heard ? Error{EPROTO, "invalid message from the delivering process"} : heard.error());
    verdict.in_doubt = true; // it may have come to its end
    return verdict;
}

// ---- the process's side ----

namespace {

// /var/mail is root's and its group may write: mailboxes there are made with that group, and for it. False: elsewhere.
bool take_mail_group(as_user::UserIdentity& person, const std::string& path) {
    struct stat found;
    if (stat(parent_of(path).c_str(), &found) != 0 || found.st_uid != 0) return false;
    if ((found.st_mode & S_IWGRP) == 0 || (found.st_mode & S_IWOTH) != 0) return false;
    person.gid = found.st_gid;
    return true;
}

Verdict deliver_as_user(MessageSocket& socket) {
    auto first = socket.receive(60'000);
    const auto* begin = first ? std::get_if<Begin>(&*first) : nullptr;
    if (!begin) return verdict_of(Error{EPROTO, "the delivering process got no instructions"});
    auto person = begin->person;
    auto request = begin->request;
    if (begin->mail_group) request.shared = take_mail_group(person, request.path);
    if (auto became = as_user::become(person); !became) return verdict_of(became.error());
    if (auto settled = common::no_new_privileges(); !settled) return verdict_of(settled.error());
    if (auto refused = user_file::reject_unless_referenced(begin->names, person)) return *refused;
    const auto mailbox = open_mailbox(request);
    if (auto verdict = mailbox->open()) return *verdict;
    if (auto said = socket.send(Opened{}, -1); !said) return verdict_of(said.error());
    while (true) {
        const auto heard = socket.receive(-1);
        if (!heard) return verdict_of(heard.error()); // the daemon has gone: nothing is kept
        if (std::holds_alternative<Commit>(*heard)) return mailbox->commit();
        const auto* piece = std::get_if<Piece>(&*heard);
        if (!piece) return verdict_of(Error{EPROTO, "unexpected message from the daemon"});
        if (auto verdict = mailbox->write(piece->content)) return *verdict;
    }
}

} // namespace

int write_mailbox_as_user() {
    auto control = as_user::set_up_process(0);
    if (!control) return 1;
    MessageSocket socket(std::move(*control));
    const Verdict verdict = deliver_as_user(socket);
    return socket.send(Ended{verdict}, -1) ? 0 : 1;
}

} // namespace local

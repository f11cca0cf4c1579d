// A mailbox written by a process that has become its owner: the daemon's side, which is a Mailbox like any other, and
// the process's side. They exchange frames over a socket pair; the process becomes the user before it touches any of
// the user's files. A process that does not answer in time is killed: its user may have stopped it.
#pragma once
#include "daemons/local/as_user/as_user.h"
#include "daemons/local/as_user/child.h"
#include "daemons/local/as_user/user_file.h"
#include "daemons/local/mailbox/mailbox.h"
#include "libsmtp/text/time_types.h"
#include <string>
#include <variant>

namespace local {

namespace user_process {

struct Begin { // daemon → process: the user to become, and where to write
    as_user::UserIdentity person;
    MailboxRequest request;
    user_file::TargetReference names; // not empty: it is written only if the user's own files name it
    bool mail_group =
        false; // in a directory such as /var/mail it has that directory's group, and the mbox is for it, too
    static void fields(auto& m, auto& f) {
        f("person", m.person);
        f("letter", m.request);
        f("names", m.names);
        f("mail_group", m.mail_group);
    }
};
struct Piece { // daemon → process
    std::string content;
    static void fields(auto& m, auto& f) { f("content", m.content); }
};
struct Commit { // daemon → process: that was all, and it is undamaged; without this message nothing is kept
    static void fields(auto&, auto&) {}
};
struct Opened { // process → daemon: continue
    static void fields(auto&, auto&) {}
};
struct Ended { // process → daemon: at any time; nothing more is read
    Verdict verdict;
    static void fields(auto& m, auto& f) { f("verdict", m.verdict); }
};
using Message = std::variant<Begin, Piece, Commit, Opened, Ended>;
using MessageSocket = as_user::MessageSocket<Message>;

} // namespace user_process

class UserProcess final : public Mailbox {
public:
    // `timeout`: of each step, opening beyond the request's lock_timeout.
    UserProcess(user_process::Begin begin, smtp::Duration timeout, UnreapedProcesses& unreaped);
    ~UserProcess() override; // the process discards what was not committed, or is killed
    std::optional<Verdict> open() override;
    std::optional<Verdict> write(std::string_view content) override;
    Verdict commit() override;

private:
    std::optional<Verdict> answer(int patience); // nothing: Opened
    Verdict failure_of(const spool::Error& error);

    user_process::Begin begin_;
    const int timeout_; // ms
    Child child_;
    std::optional<user_process::MessageSocket> socket_;
};

// The main function of such a process, with the socket as descriptor 0; its exit status.
int write_mailbox_as_user();

} // namespace local

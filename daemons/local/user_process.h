// A mailbox written by a process that has become its owner: the daemon's side, which looks like any Mailbox,
// and the process's side. They speak frames over a socket pair; the process becomes the user before it touches
// anything of theirs.
#pragma once
#include "daemons/common/privileges.h"
#include "daemons/local/as_user.h"
#include "daemons/local/mailbox.h"
#include <string>
#include <sys/types.h>
#include <variant>

namespace local {

namespace user_process {

struct Begin { // daemon → process: whose process it is to be, and where to write
    as_user::Person person;
    Letter letter;
    static void fields(auto& m, auto& f) {
        f("person", m.person);
        f("letter", m.letter);
    }
};
struct Piece { // daemon → process
    std::string content;
    static void fields(auto& m, auto& f) { f("content", m.content); }
};
struct Commit { // daemon → process: that was all, and it is undamaged; without this word nothing is kept
    static void fields(auto&, auto&) {}
};
struct Opened { // process → daemon: go on
    static void fields(auto&, auto&) {}
};
struct Ended { // process → daemon: at any time; nothing more is read
    Verdict verdict;
    static void fields(auto& m, auto& f) { f("verdict", m.verdict); }
};
using Message = std::variant<Begin, Piece, Commit, Opened, Ended>;
using Line = as_user::Line<Message>;

} // namespace user_process

class UserProcess final : public Mailbox {
public:
    UserProcess(common::Identity user, Letter letter);
    ~UserProcess() override; // the process gives up what was not committed, or is killed
    std::optional<Verdict> open() override;
    std::optional<Verdict> write(std::string_view content) override;
    Verdict commit() override;

private:
    spool::Result<> start();
    Verdict lost(const spool::Error& error);

    common::Identity user_;
    Letter letter_;
    std::optional<user_process::Line> line_;
    pid_t pid_ = 0;
};

// Such a process's whole life, with the socket as descriptor 0; its exit status.
int write_mailbox_as_user();

} // namespace local

// A mailbox written by a process that has become its owner: the daemon's side, which looks like any Mailbox,
// and the process's side. They speak frames over a socket pair. The process is this same program, started
// anew, so that nothing of the daemon's memory goes with it; it becomes the user before it touches anything
// of theirs.
#pragma once
#include "daemons/common/fd.h"
#include "daemons/common/ipc/frame.h"
#include "daemons/common/privileges.h"
#include "daemons/local/mailbox.h"
#include <string>
#include <sys/types.h>
#include <variant>
#include <vector>

namespace local {

namespace user_process {

struct Begin { // daemon → process: whose process it is to be, and where to write
    std::string user, home;
    std::uint32_t uid = 0, gid = 0;
    std::vector<std::uint32_t> groups;
    Letter letter;
    static void fields(auto& m, auto& f) {
        f("user", m.user);
        f("home", m.home);
        f("uid", m.uid);
        f("gid", m.gid);
        f("groups", m.groups);
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

// Frames on a socket, waiting for them. Each end owns one.
class Line {
public:
    explicit Line(common::Fd fd) : fd_(std::move(fd)) {}
    template <class M> spool::Result<> say(const M& message);
    // Error ETIMEDOUT after `patience` ms (-1: none); Error EPIPE at the end of the stream.
    spool::Result<Message> hear(int patience);

private:
    common::Fd fd_;
    ipc::FrameReader reader_;
    std::string buffer_;
};

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

// The word on the command line that makes this program such a process, with the socket as descriptor 0.
inline constexpr char as_user_option[] = "--as-user";
int run_as_user();

} // namespace local

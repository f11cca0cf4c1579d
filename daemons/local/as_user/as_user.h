// Processes that run as a user: this same program, executed again so that nothing of the daemon's memory goes with
// it, and told over a socket which user to become and what to do then. Here is what starting one, talking to it and
// becoming the user have in common; what each process does is described where it does it.
#pragma once
#include "daemons/common/ipc/frame.h"
#include "daemons/common/ipc/message.h"
#include "daemons/common/process/privileges.h"
#include "daemons/common/runtime/fd.h"
#include "libspool/disk/result.h"
#include <cerrno>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace local::as_user {

// The words on the command line that make this program such a process: "--as-user mailbox".
inline constexpr std::string_view option = "--as-user";

// Starts one; `descriptors` become its 0, 1, 2. The caller waits for it (child.h).
spool::Result<pid_t> start_process(std::string_view work, std::initializer_list<int> descriptors);
// Both ends close on exec. The first is ours.
spool::Result<std::pair<common::Fd, common::Fd>> socket_pair();

struct UserIdentity {
    std::string name, home;
    std::uint32_t uid = 0, gid = 0;
    std::vector<std::uint32_t> groups;
    bool change = true; // false (single-user mode): keeps its user
    static void fields(auto& m, auto& f) {
        f("name", m.name);
        f("home", m.home);
        f("uid", m.uid);
        f("gid", m.gid);
        f("groups", m.groups);
        f("change", m.change);
    }
};
UserIdentity identity_of(const common::Identity& user);
// Permanently; never uid 0.
spool::Result<> become(const UserIdentity& person);

// The first steps of such a process; its control socket comes as descriptor `at`. Error: there is no peer.
spool::Result<common::Fd> set_up_process(int at);

// Frames on a socket, with blocking reads. Each end owns one.
class FrameSocket {
public:
    explicit FrameSocket(common::Fd fd) : fd_(std::move(fd)) {}
    // Both: error ETIMEDOUT after `patience` ms (-1: as long as it takes).
    spool::Result<> send(std::string_view frame_with_length, int patience);
    // Error EPIPE at the end of the stream. Valid until the next call.
    spool::Result<std::string_view> frame(int patience);

private:
    common::Fd fd_;
    ipc::FrameReader reader_;
    std::string buffer_;
};

// The same with a conversation's messages.
template <class Message> class MessageSocket {
public:
    explicit MessageSocket(common::Fd fd) : socket_(std::move(fd)) {}
    template <class M> spool::Result<> send(const M& message, int patience) {
        std::string wire;
        const auto begun = ipc::begin_frame(wire);
        ipc::encode<Message>(message, wire);
        if (!ipc::end_frame(wire, begun)) return std::unexpected(spool::Error{EMSGSIZE, "a frame is too long"});
        return socket_.send(wire, patience);
    }
    spool::Result<Message> receive(int patience) {
        const auto frame = TRY(socket_.frame(patience));
        auto message = ipc::decode<Message>(frame);
        if (!message) return std::unexpected(spool::Error{EPROTO, "delivering process: " + message.error().why});
        return *std::move(message);
    }

private:
    FrameSocket socket_;
};

} // namespace local::as_user

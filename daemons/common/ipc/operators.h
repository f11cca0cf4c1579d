// Who may control the mail system: the users of run/control and run/master, and who
// may submit messages together with their state. Based on the kernel's credentials
// of the peer, never on what is sent over the socket. Knows no user names.
#pragma once
#include "daemons/common/net/local_socket.h"
#include <optional>
#include <string>
#include <sys/types.h>

namespace common {

struct Operators {
    uid_t service = static_cast<uid_t>(-1); // who the daemons are
    bool single_user = false;               // the daemons are their owner, who is the operator
    std::optional<gid_t> group;             // mta.admin_group, where there is such a group

    // Root, and members of the group. The service user never is, whatever groups it is in: a daemon that has been
    // taken over gives no orders. In single-user mode the owner is, and so is whoever takes over a daemon: that mode
    // protects other users' mail from nobody, for it handles nobody else's.
    bool includes(const Credentials& peer) const;
};

} // namespace common

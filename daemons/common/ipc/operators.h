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
    uid_t service = static_cast<uid_t>(-1); // the user the daemons run as
    bool single_user = false;               // the daemons run as their owner, the operator
    std::optional<gid_t> group;             // mta.admin_group, where there is such a group

    // Root, and members of the group. Never the service user, whatever groups it is in: a compromised daemon gives no
    // orders. In single-user mode the owner is included, and thus also an attacker in control of a daemon: that mode
    // does not protect other users' mail, because it handles none.
    bool includes(const Credentials& peer) const;
};

} // namespace common

#include "daemons/common/ipc/operators.h"
#include <algorithm>

namespace common {

bool Operators::includes(const Credentials& peer) const {
    if (peer.uid == 0) return true;
    if (peer.uid == service) return single_user;
    return group && (peer.gid == *group || std::ranges::find(peer.groups, *group) != peer.groups.end());
}

} // namespace common

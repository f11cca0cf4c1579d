// A host of a link as index/snapshot keeps it: all that a connection needs to know of it, as links are probed
// before the router has spoken again. Fields are only added; what an older snapshot does not say is as usual.
#pragma once
#include "daemons/common/proto/route.h"

namespace queue_manager {

struct SnapshotHost {
    proto::route::Host host;
    static void fields(auto& m, auto& f) {
        f(1, m.host.name);
        f(2, m.host.port);
        f(3, m.host.preference);
        f(4, m.host.weight);
        f(5, m.host.tier);
        f(6, m.host.tls_wrap);
        f(7, m.host.protocol);
        f(8, m.host.account);
    }
};

} // namespace queue_manager

// The hosts of links as the router named them last, with the route that led there. Values.
#pragma once
#include "daemons/common/proto/route.h"
#include <string>
#include <unordered_map>
#include <vector>

namespace queue_manager {

struct LinkHosts {
    bool mx = false;
    std::string rule; // of the route that led to it last
    std::vector<proto::route::Host> hosts;

    static LinkHosts of(const proto::route::Routed& answer) {
        return {answer.kind == decide::RouteKind::mx, answer.rule, answer.hosts};
    }
};

using LinkHostsByName = std::unordered_map<std::string, LinkHosts>;

} // namespace queue_manager

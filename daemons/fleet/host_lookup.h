// The addresses of a host, by the system's resolver on the thread pool: /etc/hosts and the DNS.
#pragma once
#include "daemons/common/net/network.h"
#include "daemons/common/runtime/pool_work.h"
#include <cstdint>
#include <expected>
#include <functional>
#include <string>
#include <vector>

namespace fleet {

class HostLookup {
public:
    using Found = std::expected<std::vector<common::Endpoint>, std::string>; // never empty
    // `done` is called once from a later turn, unless this is destroyed before.
    HostLookup(common::Loop& loop, const std::string& host, std::uint16_t port, std::function<void(const Found&)> done);

private:
    common::PoolWork work_;
};

} // namespace fleet

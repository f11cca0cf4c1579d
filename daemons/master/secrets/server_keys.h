// The keys of the daemons that others connect to. A client's token is made with its server's key, so that a
// client can claim no other role. New at each start of master, and never written down.
#pragma once
#include "daemons/common/proto/hello.h"
#include <cstdint>
#include <map>
#include <string>

namespace master {

class ServerKeys {
public:
    ServerKeys(); // makes them

    const std::string& of(proto::Role server) const { return keys_.at(server); }
    std::string token(proto::Role server, proto::Role client, std::uint32_t instance) const;

private:
    std::map<proto::Role, std::string> keys_;
};

} // namespace master

#include "daemons/master/secrets/server_keys.h"
#include "daemons/common/ipc/hello.h"
#include "daemons/common/runtime/random.h"
#include <fmt/format.h>

namespace master {

namespace {

std::string random_key() {
    std::string text;
    for (const char byte : common::random_bytes(24)) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    return text;
}

} // namespace

ServerKeys::ServerKeys() {
    for (int i = 0; i <= static_cast<int>(proto::Role::last_); ++i) keys_[static_cast<proto::Role>(i)] = random_key();
}

std::string ServerKeys::token(proto::Role server, proto::Role client, std::uint32_t instance) const {
    return ipc::token_of(of(server), client, instance);
}

} // namespace master

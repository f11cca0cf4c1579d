// The identity of a daemon and the peers it accepts: roles, tokens, and the verdict on a Hello. Knows no sockets.
#pragma once
#include "daemons/common/proto/hello.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ipc {

// A token with which master vouches for one process to one server. No server can pass for one of its clients at another
// server.
struct ServerToken {
    std::string server; // the last part of its socket's path: "queue-manager"
    std::string token;
};

// What a daemon states about itself in every Hello; its tokens come from master.
struct Identity {
    proto::Role role = proto::Role::master;
    std::uint32_t instance = 0;
    std::vector<ServerToken> tokens;
    // For the server with that socket; "" if this process has no business there.
    std::string token_for(std::string_view socket_path) const;
};

// The peers that a server accepts: processes of these roles whose token is made from its key.
struct ExpectedTokens {
    std::string key; // only master and this server have it; "": no process is admitted
    std::vector<proto::Role> roles;
};

// The token of one process for the server that has this key.
std::string token_of(std::string_view key, proto::Role role, std::uint32_t instance);

// Takes the same time wherever the two differ.
bool equal_secrets(std::string_view a, std::string_view b);

// Why this Hello is rejected; "" if it is not. `roles`: those that may hold the conversation.
std::string rejection_reason(const proto::hello::Hello& hello, const std::vector<proto::Role>& roles,
                             const ExpectedTokens& expected);

} // namespace ipc

// Who a daemon is and whom it believes: roles, tokens, and the judgement of a Hello. Knows no sockets.
#pragma once
#include "daemons/common/proto/hello.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ipc {

// What a daemon says of itself in every Hello; its token comes from master.
struct Identity {
    proto::Role role = proto::Role::master;
    std::uint32_t instance = 0;
    std::string token;
};

// Whom a daemon answers: the tokens master told it to expect.
struct ExpectedToken {
    proto::Role role;
    std::string token;
};
using ExpectedTokens = std::vector<ExpectedToken>;

// Takes the same time wherever the two differ.
bool equal_secrets(std::string_view a, std::string_view b);

// Why this Hello is refused; "" if it is not. `roles`: who may hold the conversation.
std::string refusal(const proto::hello::Hello& hello, const std::vector<proto::Role>& roles,
                    const ExpectedTokens& expected);

} // namespace ipc

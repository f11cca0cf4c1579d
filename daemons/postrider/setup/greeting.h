// Connects to an SMTP server and waits for its greeting; sends nothing but QUIT.
#pragma once
#include "daemons/common/net/network.h"
#include "daemons/common/runtime/loop.h"
#include <expected>
#include <string>

namespace postrider::setup {

inline constexpr smtp::Duration greeting_timeout = std::chrono::seconds(15);

// The first line, without its end; the error says why there is none.
std::expected<std::string, std::string> greeting_of(common::Loop& loop, const common::Endpoint& server);

} // namespace postrider::setup

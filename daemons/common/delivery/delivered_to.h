// Where a message has been before, according to its Delivered-To fields: each system that delivers
// or forwards it adds one. An address that is already listed has received the message before.
#pragma once
#include "libspool/message/message_reader.h"
#include <set>
#include <string>

namespace common {

// Their values, ASCII's letters small: of a header's first 256 KiB.
spool::ReadResult<std::set<std::string>> delivered_to(spool::MessageReader& message);

} // namespace common

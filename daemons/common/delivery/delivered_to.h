// Where a message has been before, as its Delivered-To fields say: written by whoever delivered it or sent it on.
// Who finds himself there has it for the second time.
#pragma once
#include "libspool/message/message_reader.h"
#include <set>
#include <string>

namespace common {

// Their values, ASCII's letters small: of a header's first 256 KiB.
spool::ReadResult<std::set<std::string>> delivered_to(spool::MessageReader& message);

} // namespace common

// The client of pickup's submit socket, for commands: sends the frames of one message as they are
// created and reads the answer. Blocks, with a time limit. The callers determine the order of frames.
#pragma once
#include "daemons/common/proto/submit.h"
#include "daemons/common/runtime/fd.h"
#include <functional>
#include <optional>
#include <string>

namespace common {

// Returned by a producer of frames: it appended one; there are no more; it cannot continue, so nothing may be
// submitted.
enum class Made { frame, all, broken };

// Nothing: pickup closed before it had received everything, or the frames broke; nothing was submitted.
std::optional<proto::submit::Answer> hand_over(Fd socket, const std::function<Made(std::string& wire)>& next);

} // namespace common

// The client of pickup's submit socket, for commands: sends the frames of one message as they are
// created and reads the answer. Blocks, with a time limit. The callers determine the order of frames.
#pragma once
#include "daemons/common/proto/submit.h"
#include "daemons/common/runtime/fd.h"
#include <functional>
#include <optional>
#include <string>

namespace common {

// What a maker of frames says: it appended one; that was all; it cannot go on, so nothing may be submitted.
enum class Made { frame, all, broken };

// Nothing: pickup went before it had heard everything, or the frames broke; nothing was submitted.
std::optional<proto::submit::Answer> hand_over(Fd socket, const std::function<Made(std::string& wire)>& next);

} // namespace common

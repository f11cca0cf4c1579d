// Submits a message: to pickup on the submit socket; if nothing listens there, into the drop directory; if that is not
// possible, it fails. Blocks for a limited time. Once all of a message was sent, it is never submitted in another way.
#pragma once
#include "daemons/common/commands/effective_config.h"
#include "daemons/common/proto/submit.h"
#include <string>
#include <string_view>

namespace sendmail {

// As pickup answers: status of sysexits.h, 0 durable. queue_id is empty for a message in the drop directory.
proto::submit::Answer submit(const common::EffectiveConfig& config, const proto::submit::Begin& begin,
                             std::string_view content);

} // namespace sendmail

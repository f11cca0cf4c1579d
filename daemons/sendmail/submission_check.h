// Checks a message for what pickup would reject permanently, before it is left in the drop directory: later there is
// no program to report an error to. Not checked: what only a running system can decide (header checks, filters,
// idempotency). Pure.
#pragma once
#include "daemons/common/commands/effective_config.h"
#include "daemons/common/proto/submit.h"
#include "libsmtp/text/time_types.h"
#include <optional>
#include <string_view>

namespace sendmail {

std::optional<proto::submit::Answer> check_submission(const common::EffectiveConfig& config,
                                                      const proto::submit::Begin& begin, std::string_view content,
                                                      smtp::WallTime now);

} // namespace sendmail

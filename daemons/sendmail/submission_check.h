// What pickup would refuse for good, found out by sendmail itself: of mail that is left in the drop directory, for later nobody
// waits for an answer. What only a running system can know (header checks, filters, idempotency) is not looked at. Pure.
#pragma once
#include "daemons/common/config/config.h"
#include "daemons/common/proto/submit.h"
#include <optional>
#include <string_view>

namespace sendmail {

std::optional<proto::submit::Answer> objection(const config::Config& config, const proto::submit::Begin& begin,
                                               std::string_view content);

} // namespace sendmail

// The words for IdempotencyMatch in a configuration file.
#pragma once
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/config/sections/server/idempotency.h"

namespace config {

inline constexpr EnumValue<IdempotencyMatch> idempotency_matches[] = {{"key", IdempotencyMatch::key},
                                                                      {"content", IdempotencyMatch::content}};

} // namespace config

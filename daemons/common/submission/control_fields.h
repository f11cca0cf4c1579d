// Header fields that control how this system handles a message: they are removed from it
// (libsmtp/message/control_fields.h) for every sender, so that no recipient sees them. Pure.
#pragma once
#include "daemons/common/config/sections/server/idempotency.h"
#include "daemons/decide/message/idempotency.h"
#include <span>
#include <string_view>

namespace common {

// Whose message is it?
enum class Submitter : bool { stranger, trusted };

inline constexpr std::string_view control_fields[] = {
    "X-Postrider-Pool",   "X-Postrider-Send-At",    "X-Postrider-Expires", "X-Postrider-Lane",
    "X-Postrider-Policy", "X-Postrider-Deliver-By", "X-Postrider-Source",  decide::idempotency::field_name};
// Their numbers. The key is the last one.
inline constexpr std::size_t pool_field = 0, send_at_field = 1, expires_field = 2, lane_field = 3, policy_field = 4,
                             deliver_by_field = 5, source_field = 6, key_field = 7;

// The beginning of names that the submitter chooses, for the journal.
inline constexpr std::string_view meta_field = "X-Postrider-Meta-";

// Those taken out of the message of such a submitter. An idempotency key that we do not use is ordinary text.
inline std::span<const std::string_view> control_fields_of(Submitter submitter, const config::Idempotency& settings) {
    const bool keys = submitter == Submitter::trusted && settings.enabled;
    return std::span(control_fields).first(keys ? key_field + 1 : key_field);
}

} // namespace common

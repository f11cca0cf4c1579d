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

inline constexpr std::string_view control_fields[] = {"X-Postrider-Pool", decide::idempotency::field_name};
inline constexpr std::size_t pool_field = 0, key_field = 1; // their numbers

// Those taken out of the message of such a submitter. An idempotency key that we do not use is ordinary text.
inline std::span<const std::string_view> control_fields_of(Submitter submitter, const config::Idempotency& settings) {
    const bool keys = submitter == Submitter::trusted && settings.enabled;
    return std::span(control_fields).first(keys ? 2 : 1);
}

} // namespace common

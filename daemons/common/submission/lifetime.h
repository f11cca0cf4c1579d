// The lifetime of a message according to the configuration when it is
// accepted: recorded with it, so that a reload does not change queued mail.
#pragma once
#include "daemons/decide/queue/settings.h"
#include <cstdint>
#include <string_view>

namespace common {

// Whole seconds, as spool::Envelope::lifetime has them.
inline std::uint32_t lifetime_of(std::string_view reverse_path, const decide::queue::Settings& settings) {
    const auto life = reverse_path.empty() ? settings.report_expiry : settings.expiry;
    return static_cast<std::uint32_t>(std::chrono::ceil<std::chrono::seconds>(life).count());
}

} // namespace common

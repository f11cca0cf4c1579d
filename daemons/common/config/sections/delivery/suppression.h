// Which rejections add a recipient to the suppression list automatically. Values.
#pragma once
#include "daemons/decide/message/suppression.h"
#include <chrono>
#include <cstdint>
#include <vector>

namespace config {

struct Suppression {                            // [suppression]
    std::vector<decide::SuppressionRule> rules; // empty: no recipient is added automatically
    std::chrono::microseconds lifetime = std::chrono::hours(24 * 90);
};

} // namespace config

// What a log says beside what the simulation of it came to: the same figures of both, over all mail and domain by domain.
// Pure.
#pragma once
#include "daemons/postrider/simulate/chronicle.h"
#include "daemons/postrider/simulate/from_log/played.h"
#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace postrider::simulate::from_log {

// No line is longer than `width`, or narrowest.
std::string beside(const MailLog& log, const Played& played, const Chronicle& chronicle, std::size_t width);
nlohmann::json beside_json(const MailLog& log, const Played& played, const Chronicle& chronicle);

} // namespace postrider::simulate::from_log

// The pool of source addresses of a message, as far as it is known when it is accepted:
// from a field of its header, or from its sender; otherwise its route decides. Pure.
#pragma once
#include "daemons/common/config/config.h"
#include "daemons/common/submission/control_fields.h"
#include "libspool/format/envelope.h"
#include <string>
#include <string_view>

namespace common {

// `asked`: the field's value, "" without one. A stranger's wishes count for nothing. Sets envelope.pool;
// returns what is wrong, "" nothing.
std::string choose_pool(const config::Config& config, Submitter submitter, std::string_view asked,
                        spool::Envelope& envelope);

} // namespace common

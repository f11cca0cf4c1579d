// The pool of source addresses of a message, as far as it is known when it is accepted:
// from a field of its header, or from its sender; otherwise its route decides. Pure.
#pragma once
#include "daemons/common/config/sections/delivery/pools.h"
#include "daemons/common/submission/control_fields.h"
#include "libspool/format/envelope.h"
#include <string>
#include <string_view>
#include <vector>

namespace common {

// What a configuration says about it.
struct PoolRules {
    PoolRules(const std::vector<config::Pool>& pools, const config::Pools& choice, std::string recipient_delimiter);
    std::vector<std::string> names; // of all pools
    config::Pools choice;
    std::string recipient_delimiter;
};

// `asked`: the field's value, "" without one. A stranger's wishes count for nothing. Sets envelope.pool;
// returns what is wrong, "" nothing.
std::string choose_pool(const PoolRules& rules, Submitter submitter, std::string_view asked, spool::Envelope& envelope);

} // namespace common

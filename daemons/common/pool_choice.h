// By which pool of source addresses a message goes, as far as that is settled when it is accepted: by a field
// of its header, by its sender; its route may say the rest. Pure.
#pragma once
#include "daemons/common/config/config.h"
#include "libspool/envelope.h"
#include <string>
#include <string_view>

namespace common {

// Fields that say to us what is to be done; nobody else gets to see them (libsmtp/control_fields.h).
inline constexpr std::string_view control_fields[] = {"X-Postrider-Pool"};
inline constexpr std::size_t pool_field = 0; // its number

// Whose message is it?
enum class Submitter : bool { stranger, trusted };

// `asked`: the field's value, "" without one. A stranger's wishes count for nothing. Sets envelope.pool;
// returns what is wrong, "" nothing.
std::string choose_pool(const config::Config& config, Submitter submitter, std::string_view asked,
                        spool::Envelope& envelope);

} // namespace common

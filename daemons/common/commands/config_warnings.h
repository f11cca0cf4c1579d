// Warnings about a valid configuration: certificates about to expire, secrets readable by
// others, groups that do not exist, a spool that does not get mail submitted while Postrider
// is stopped, a syslog socket without a daemon, standard names that were replaced, mail that
// will wait (sending_warnings.h). Examines the files that the configuration names; changes
// and rejects nothing. Shown by `postrider check`, in the log and by `postrider status`.
#pragma once
#include "daemons/common/config/fwd.h"
#include "daemons/common/config/sections/system/mta.h"
#include "daemons/common/process/privileges.h"
#include "libsmtp/text/time_types.h"
#include <string>
#include <vector>

namespace common {

// One line per warning, with what to do about it. Files that this process cannot read are skipped.
std::vector<std::string> config_warnings(const config::Config& config, smtp::WallTime now);
// The same for what others on this host may change at any time: the syslog socket and the standard names.
std::vector<std::string> environment_warnings(const config::Config& config);
// The same for groups that do not exist; queries the user database, which may block (NSS).
std::vector<std::string> missing_groups(const config::Mta& mta);
// The identity that the daemons run as; the error says what to do. May block as well. Only if mta.multi_user is true.
spool::Result<Identity> service_user(const config::Mta& mta);

inline constexpr smtp::Duration certificate_warning_period = std::chrono::hours(14 * 24); // before its expiry
// "" while the expiry is further away than that.
std::string expiry_warning(const std::string& file, smtp::WallTime end, smtp::WallTime now);
// "" if only owner and group may read it. `mode` as in stat(2).
std::string permission_warning(const std::string& file, unsigned mode);

} // namespace common

#include "daemons/master/reload_check.h"
#include "daemons/common/config/config.h"
#include "daemons/common/process/confinement.h"
#include "daemons/common/process/process_plan.h"
#include <fmt/format.h>
#include <optional>
#include <string_view>

namespace master {

using spool::Error;
using spool::Result;

namespace {

constexpr std::string_view restart = "\"postrider stop\" and \"postrider start\"";

// What cannot change under running processes.
std::optional<std::string_view> fixed_key_changed(const config::Config& old, const config::Config& fresh) {
    if (old.spool.directory != fresh.spool.directory) return "spool.directory";
    if (old.mta.users != fresh.mta.users) return "mta.multi_user";
    if (old.mta.user != fresh.mta.user) return "mta.user";
    if (old.mta.drop_group != fresh.mta.drop_group) return "mta.drop_group";
    if (old.mta.admin_group != fresh.mta.admin_group) return "mta.admin_group";
    return std::nullopt;
}

// A process is confined once, when it starts: what the new configuration would have it read elsewhere it
// could never open.
Result<> check_confinement(const config::Config& old, const config::Config& fresh) {
    for (const auto& process : common::process_plan(fresh)) {
        const auto paths = common::missing_rights(common::access_rights_of(process.role, process.instance, old),
                                                  common::access_rights_of(process.role, process.instance, fresh));
        if (!paths.empty())
            return std::unexpected(
                Error{0, fmt::format("the running {} has no access to {}: access rights of a process are set when it "
                                     "starts: this requires {}",
                                     process.name, paths.front(), restart)});
    }
    return {};
}

} // namespace

Result<> check_reload(const config::Config& old, const config::Config& fresh) {
    if (const auto key = fixed_key_changed(old, fresh))
        return std::unexpected(Error{0, fmt::format("{} has changed: this requires {}", *key, restart)});
    return check_confinement(old, fresh);
}

} // namespace master

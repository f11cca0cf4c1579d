#include "daemons/common/process/programs.h"
#include "daemons/common/config/sections/system/fleet.h"
#include "libspool/disk/result.h"
#include <cerrno>
#include <climits>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <unistd.h>
#include <utility>

namespace common {

namespace {

std::string installed_path(std::string_view name) {
    return std::string(POSTRIDER_LIBEXECDIR) + '/' + std::string(name);
}

// The directory of the running program, with a "/" at its end. Nothing if it cannot be determined, or is that of the
// installed command postrider: programs of other packages are there too, and one of them may be called sendmail.
std::optional<std::string> own_folder() {
    char self[PATH_MAX];
    std::error_code unknown;
    const auto n = readlink("/proc/self/exe", self, sizeof self);
    if (n <= 0) return {};
    std::string path(self, static_cast<std::size_t>(n));
    path.resize(path.rfind('/') + 1); // also right for "… (deleted)": only the name is removed
    if (std::filesystem::equivalent(path, POSTRIDER_SBINDIR, unknown)) return {};
    return path;
}

bool can_be_run(const std::string& path) { return access(path.c_str(), X_OK) == 0; }

// Of a package of its own, without which mail flows.
bool is_installed(proto::Role role) {
    const auto path = program_path(proto::name_of(role));
    return can_be_run(path) || errno != ENOENT;
}
bool has_own_package(proto::Role role) {
    return role == proto::Role::http || role == proto::Role::maps || role == proto::Role::fleet;
}

} // namespace

std::string program_path(std::string_view name) {
    const auto folder = own_folder();
    if (folder && can_be_run(*folder + std::string(name))) return *folder + std::string(name);
    return installed_path(name);
}

std::string command_program_path(std::string_view name) {
    const auto folder = own_folder();
    if (folder && folder->ends_with("/daemons/postrider/") && !can_be_run(*folder + std::string(name))) {
        const auto built = fmt::format("{}../{}/{}", *folder, name, name);
        if (can_be_run(built)) return std::filesystem::path(built).lexically_normal();
    }
    return program_path(name);
}

std::string cannot_run(const std::string& path, int error) {
    if (error == ENOENT)
        return fmt::format("the program {} is missing: reinstall Postrider with all its programs", path);
    return spool::Error::from_errno("the program " + path + " cannot be run", error).what;
}

std::vector<std::string> missing_programs(const config::Config& config) {
    std::vector<std::string> out;
    std::optional<proto::Role> last; // workers of one role are adjacent
    const auto look = [&](proto::Role role) {
        if (std::exchange(last, role) == role) return;
        const auto path = program_path(proto::name_of(role));
        if (!can_be_run(path)) out.push_back(cannot_run(path, errno));
    };
    look(proto::Role::master);
    for (const auto& process : installed_plan(config)) look(process.role);
    return out;
}

std::vector<PlannedProcess> installed_plan(const config::Config& config) {
    auto plan = process_plan(config);
    std::erase_if(plan,
                  [](const auto& process) { return has_own_package(process.role) && !is_installed(process.role); });
    return plan;
}

std::string missing_package(const config::Http& http) {
    if (!http.served() || is_installed(proto::Role::http)) return {};
    return fmt::format("the API and the page ([http]) are not served: the program {} is missing: install the package "
                       "postrider-http, then \"postrider reload\"",
                       program_path("http"));
}

std::string missing_maps_package(const config::Config& config) {
    if (!names_databases(config) || is_installed(proto::Role::maps)) return {};
    return fmt::format(
        "tables in databases (mysql:, pgsql:, ldap:) cannot be queried, and mail that depends on them "
        "waits: the program {} is missing: install the package postrider-maps, then \"postrider reload\"",
        program_path("maps"));
}

std::string missing_fleet_package(const config::Config& config) {
    if (!config::fleet_of(config).enabled() || is_installed(proto::Role::fleet)) return {};
    return fmt::format("this node shares nothing with other nodes ([fleet]): the program {} is missing: install the "
                       "package postrider-fleet, then \"postrider reload\"",
                       program_path("fleet"));
}

} // namespace common

#include "daemons/common/process/programs.h"
#include "daemons/common/process/process_plan.h"
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

std::string installed_path(std::string_view name) { return std::string(POSTRIDER_LIBEXECDIR) + '/' + std::string(name); }

} // namespace

// Beside the installed command postrider lie everybody's programs, and one of them may be called sendmail.
std::string program_path(std::string_view name) {
    char self[PATH_MAX];
    std::error_code unknown;
    if (const auto n = readlink("/proc/self/exe", self, sizeof self); n > 0) {
        std::string path(self, static_cast<std::size_t>(n));
        path.resize(path.rfind('/') + 1); // also right for "… (deleted)": only the name goes
        if (std::filesystem::equivalent(path, POSTRIDER_SBINDIR, unknown)) return installed_path(name);
        path += name;
        if (access(path.c_str(), X_OK) == 0) return path;
    }
    return installed_path(name);
}

std::vector<std::string> missing_programs(const config::Config& config) {
    std::vector<std::string> out;
    std::optional<proto::Role> last; // workers of one role stand together
    const auto look = [&](proto::Role role) {
        if (std::exchange(last, role) == role) return;
        const auto path = program_path(proto::name_of(role));
        if (access(path.c_str(), X_OK) == 0) return;
        out.push_back(errno == ENOENT
                          ? fmt::format("the program {} is missing: install Postrider anew, all its programs together", path)
                          : spool::Error::from_errno("the program " + path + " cannot be run").what);
    };
    look(proto::Role::master);
    for (const auto& process : process_plan(config)) look(process.role);
    return out;
}

} // namespace common

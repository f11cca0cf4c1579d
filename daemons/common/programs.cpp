#include "daemons/common/programs.h"
#include <climits>
#include <unistd.h>

namespace common {

std::string program_path(std::string_view name) {
    char self[PATH_MAX];
    if (const auto n = readlink("/proc/self/exe", self, sizeof self); n > 0) {
        std::string path(self, static_cast<std::size_t>(n));
        path.resize(path.rfind('/') + 1); // also right for "… (deleted)": only the name goes
        path += name;
        if (access(path.c_str(), X_OK) == 0) return path;
    }
    return std::string(POSTRIDER_LIBEXECDIR) + '/' + std::string(name);
}

} // namespace common

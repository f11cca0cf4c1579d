#include "daemons/common/commands/config_file.h"
#include <cstdlib>

namespace common {

std::string config_file(std::string_view given) {
    if (!given.empty()) return std::string(given);
    if (const char* named = secure_getenv("POSTRIDER_CONFIG"); named && *named) return named;
    return std::string(standard_config_file);
}

} // namespace common

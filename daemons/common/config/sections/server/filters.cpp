#include "daemons/common/config/sections/server/filters.h"
#include <algorithm>

namespace config {

bool Milter::sees(std::string_view listener) const {
    return listeners.empty() || std::ranges::find(listeners, listener) != listeners.end();
}

bool Milter::sees_local() const {
    return std::ranges::find(listeners, local_mail) != listeners.end();
}

} // namespace config

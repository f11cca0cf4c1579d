#include "daemons/common/config/sections/server/filters.h"
#include <algorithm>

namespace config {

bool Milter::applies_to(std::string_view listener) const {
    return listeners.empty() || std::ranges::find(listeners, listener) != listeners.end();
}

bool Milter::applies_to_local() const { return std::ranges::find(listeners, local_submissions) != listeners.end(); }

} // namespace config

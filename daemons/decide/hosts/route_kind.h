// What the lookup of a domain's next hop came to.
#pragma once
#include <cstdint>

namespace decide {

enum class RouteKind : std::uint8_t {
    mx,         // hosts from DNS: never marked down
    configured, // hosts of a configured route
    temporary,  // no answer now: status and text say why
    permanent,  // the domain cannot receive mail: status and text say why
    last_ = permanent,
};

} // namespace decide

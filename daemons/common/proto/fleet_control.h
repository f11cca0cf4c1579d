// The operation of run/fleet, served by the fleet process to root and to members of mta.admin_group. Framed as those of
// run/control (control.h). Knows no JSON library.
#pragma once
#include <string_view>

namespace proto::fleet_control {

namespace op {

// First a line about the store: "store" (its address), "version" ("": not known), "state" (starting, present, away),
// "since" (seconds since 1970; 0: not known), "error" (of the last failure; "" none since it came), "effect" (what that
// means now), "node" (this one's name), "expected_nodes".
// Then a line per node: "node", "state" (present, silent, stopped; unknown while the store is away), "seen" (seconds
// ago), "version", "messages" (in its queue; -1: not known), "accepting", "delivering", "lag" (changes of others that
// it has yet to apply; -1: not known), "waiting" (changes of its own that the store has yet to get), "clock_ms" (its
// clock minus the store's).
inline constexpr std::string_view nodes = "nodes";

} // namespace op

} // namespace proto::fleet_control

// What the configuration says about names that operators give: next hops, links, pools, policies. Pure.
#pragma once
#include <string>
#include <string_view>

namespace config {
struct Config;
}

namespace queue_manager {

// Does some [route] lead to that link, from any pool that there is?
bool is_routed(std::string_view link, const config::Config& config);
// What is wrong with that next hop; "" nothing.
std::string next_hop_error(std::string_view text, const config::Config& config);
// The user that the delivery agents run as; "" the one that started us.
std::string agent_user(const config::Config& config);

} // namespace queue_manager

// What a listener makes its clients pass before they may send mail: which DNS lists, which tests. Pure.
#pragma once
#include "daemons/common/config/sections/server/client_tests.h"
#include "daemons/common/config/sections/server/filters.h"
#include "daemons/common/config/sections/server/listener.h"
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace config {

// Does a section that lists these listeners apply to the listener? None: to all whose service is relay.
bool concerns(const std::vector<std::string>& listeners, const Listener& listener);
std::vector<DnsList> lists_of(const std::vector<DnsList>& all, const Listener& listener);
// Nothing: the listener makes no tests. `lists`: it has some; `threshold`: sum of their weights.
std::optional<decide::screening::Settings> tests_of(const ClientTests& tests, const Listener& listener,
                                                    std::chrono::microseconds greeting_delay, std::uint32_t threshold,
                                                    bool lists);

} // namespace config

#include "daemons/common/config/sections/server/listener_tests.h"
#include <algorithm>
#include <iterator>

namespace config {

bool concerns(const std::vector<std::string>& listeners, const Listener& listener) {
    if (listeners.empty()) return listener.service == Service::relay;
    return std::ranges::find(listeners, listener.name) != listeners.end();
}

std::vector<DnsList> lists_of(const std::vector<DnsList>& all, const Listener& listener) {
    std::vector<DnsList> out;
    std::ranges::copy_if(all, std::back_inserter(out),
                         [&](const auto& list) { return concerns(list.listeners, listener); });
    return out;
}

std::optional<decide::screening::Settings> tests_of(const ClientTests& tests, const Listener& listener,
                                                    std::chrono::microseconds greeting_delay, std::uint32_t threshold,
                                                    bool lists) {
    if (!tests.enabled || !concerns(tests.listeners, listener)) return {};
    auto settings = screening_settings(tests, greeting_delay, threshold, lists);
    // A client that begins TLS at once has no first line to wait for.
    if (listener.tls == ListenerTls::implicit)
        settings.actions[index_of(decide::screening::Test::early_talk)] = ClientTests::Action::off;
    return settings;
}

} // namespace config

#include "daemons/import-postfix/restrictions/remaining_listeners.h"
#include "daemons/import-postfix/import/import.h"
#include <fmt/format.h>

namespace postrider {

bool listens(const Import& import, const std::string& name) {
    return import.draft.find(fmt::format("listen.{}.addresses", name));
}

std::vector<std::string> relay_listeners(const Import& import) {
    std::vector<std::string> out;
    for (const auto& listener : import.listeners)
        if (!listener.submission && listens(import, listener.name)) out.push_back(listener.name);
    return out;
}

bool some_are_left(const Import& import, std::vector<std::string>& names) {
    std::erase_if(names, [&](const auto& name) { return !listens(import, name); });
    return !names.empty();
}

} // namespace postrider

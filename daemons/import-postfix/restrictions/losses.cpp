#include "daemons/import-postfix/restrictions/losses.h"
#include <fmt/format.h>

namespace postrider {

bool sets_itself(const Import::Listener& listener, std::string_view name) {
    return listener.service->own(name).has_value();
}

void record_unguarded(Import& import, const Import::Listener& listener, std::string_view list,
                      std::string_view restriction, const std::string& remark) {
    if (sets_itself(listener, list))
        import.record_unguarded(*listener.service, fmt::format("{}: {}", list, restriction), remark);
    else
        import.mark_unguarded(list, restriction, remark);
}

void record_lost(Import& import, const Import::Listener& listener, std::string_view list, const std::string& remark) {
    if (sets_itself(listener, list))
        import.record_service(*listener.service, SettingResult::Kind::unsupported, fmt::format("{}: {}", list, remark));
    else
        import.mark_unsupported(list, remark, IfLost::harmless);
}

} // namespace postrider

// What a listener's list of restrictions had in Postfix, and has not here: recorded for the service if it sets the list
// itself, else for main.cf's setting.
#pragma once
#include "daemons/import-postfix/import/import.h"
#include <string>
#include <string_view>

namespace postrider {

// Has the service an -o of that name?
bool sets_itself(const Import::Listener& listener, std::string_view name);
// A restriction whose loss has to be decided.
void record_unguarded(Import& import, const Import::Listener& listener, std::string_view list,
                      std::string_view restriction, const std::string& remark);
// One that only permits, or logs.
void record_lost(Import& import, const Import::Listener& listener, std::string_view list, const std::string& remark);

} // namespace postrider

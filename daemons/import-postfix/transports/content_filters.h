// content_filter, and FILTER of access tables and checks: mail that a filter behind the queue gets over SMTP or LMTP,
// and sends back to a listener of its own.
#pragma once
#include "daemons/import-postfix/postfix/files.h"
#include <expected>
#include <string>
#include <string_view>

namespace postrider {

class Import;

// Of FILTER in access tables and checks, "amavis:[127.0.0.1]:10024": as our FILTER has it, and the [route] of a
// transport that it names. The error: why there is none.
std::expected<std::string, std::string> imported_filter(Import& import, std::string_view value);
// The service of master.cf is named by such a FILTER.
bool is_named_by_filter(Import& import, const postfix::Service& service);
// content_filter, of main.cf and of services; a step after all that may say FILTER.
void import_content_filters(Import& import);

} // namespace postrider

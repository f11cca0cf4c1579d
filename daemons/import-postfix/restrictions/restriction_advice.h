// Restrictions of Postfix that have no counterpart: what to do instead, and what their loss means. Data.
#pragma once
#include <string_view>

namespace postrider {

std::string_view advice_on(std::string_view word);
// Losing one of these rejects no less; any other may be what keeps a client or a message out.
bool only_permits(std::string_view word);

} // namespace postrider

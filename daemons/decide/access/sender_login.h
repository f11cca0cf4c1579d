// Rules about who may use a sender: tables have the users who own an address, as Postfix's smtpd_sender_login_maps.
// Pure.
#pragma once
#include "daemons/decide/access/checks.h"

namespace decide::access {

bool is_about_sender_login(Check check);
Finding check_sender_login(const Rule& rule, const Facts& facts, const RuleSet& rules, Questions& questions);

} // namespace decide::access

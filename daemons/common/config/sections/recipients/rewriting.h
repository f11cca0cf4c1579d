// How addresses are shown to others: one struct per section of the configuration. Part of Config.
#pragma once
#include "daemons/common/text/idn.h"
#include "daemons/decide/message/signing.h"
#include "daemons/decide/rewriting/masquerade.h"
#include <string>
#include <vector>

namespace config {

struct Generic {                     // [generic]
    std::vector<std::string> tables; // as written
    bool propagate_extension = false;
};

struct Masquerade { // [masquerade]
    decide::MasqueradeRules rules = {.domains = {}, .exceptions = {}, .domain_form = idn::ascii_domain};
    decide::MasqueradeClasses classes;
    // Mail whose header is rewritten.
    decide::MailOrigin header_origins = decide::MailOrigin::local | decide::MailOrigin::submission |
                                        decide::MailOrigin::authenticated | decide::MailOrigin::networks;
    bool rewrites_headers() const { return !rules.empty() && (classes.header_sender || classes.header_recipient); }
};

} // namespace config

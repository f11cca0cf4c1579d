// How addresses are shown to others: one struct per section of the configuration. Part of Config.
#pragma once
#include "daemons/common/text/idn.h"
#include "daemons/decide/message/signing.h"
#include "daemons/decide/rewriting/masquerade.h"
#include <string>
#include <vector>

namespace config {

// Mail whose header is rewritten by default: that of our own users and systems.
inline constexpr decide::MailOrigin our_mail = decide::MailOrigin::local | decide::MailOrigin::submission |
                                               decide::MailOrigin::authenticated | decide::MailOrigin::networks;

struct Canonical {                                            // [canonical]; tables as written
    std::vector<std::string> sender, recipient;               // for the envelope
    std::vector<std::string> header_sender, header_recipient; // for fields of the header
    std::vector<std::string> common;                          // for the results of the others
    decide::MasqueradeClasses common_classes = {true, true, true, true};
    bool repeat = false;                          // results are looked up again
    decide::MailOrigin header_origins = our_mail; // mail whose header is rewritten
    bool rewrites_headers() const {
        return !header_sender.empty() || !header_recipient.empty() ||
               (!common.empty() && (common_classes.header_sender || common_classes.header_recipient));
    }
};

struct Generic {                     // [generic]
    std::vector<std::string> tables; // as written
    bool propagate_extension = false;
};

struct Masquerade { // [masquerade]
    decide::MasqueradeRules rules = {.domains = {}, .exceptions = {}, .domain_form = idn::ascii_domain};
    decide::MasqueradeClasses classes;
    decide::MailOrigin header_origins = our_mail; // mail whose header is rewritten
    bool rewrites_headers() const { return !rules.empty() && (classes.header_sender || classes.header_recipient); }
};

} // namespace config

// Masquerading: addresses below a domain are shown as addresses in that domain, ann@host.example.com as
// ann@example.com. The rules are those of Postfix's masquerade_domains. Pure text.
#pragma once
#include "libsmtp/text/text.h"
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace decide {

struct MasqueradeRules {
    // "example.com": what is below it becomes that; "!lab.example.com": what is below it stays. The first one that the
    // domain equals or is below of applies; in lower case.
    std::vector<std::string> domains;
    std::set<std::string, std::less<>> exceptions; // local parts in lower case, whose addresses stay
    // The form of a domain in which it is compared.
    std::function<std::string(std::string_view domain)> domain_form = smtp::lowered;
    bool empty() const { return domains.empty(); }
};

// Where masquerading applies.
struct MasqueradeClasses {
    bool envelope_sender = true, envelope_recipient = false, header_sender = true, header_recipient = true;
};

// Nothing: the address stays as it is.
std::optional<std::string> masqueraded(const MasqueradeRules& rules, std::string_view address);

} // namespace decide

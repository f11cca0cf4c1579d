#include "daemons/decide/rewriting/masquerade.h"
#include "daemons/decide/rewriting/address_keys.h"
#include "libsmtp/message/address.h"

namespace decide {

std::optional<std::string> masqueraded(const MasqueradeRules& rules, std::string_view address) {
    if (rules.empty()) return std::nullopt;
    const auto parts = AddressParts::of(address);
    if (parts.domain.empty() || parts.domain.starts_with('[')) return std::nullopt;
    const auto domain = rules.domain_form(parts.domain);
    for (const std::string_view rule : rules.domains) {
        const bool stays = rule.starts_with('!');
        const auto parent = rule.substr(stays ? 1 : 0);
        if (domain == parent) return std::nullopt;
        if (domain.size() <= parent.size() || !domain.ends_with(parent) ||
            domain[domain.size() - parent.size() - 1] != '.')
            continue;
        if (stays) return std::nullopt;
        const auto mailbox = smtp::Mailbox::parse(address);
        const auto local = mailbox ? smtp::lowered(mailbox->local_part) : smtp::lowered(parts.local);
        if (rules.exceptions.contains(local)) return std::nullopt;
        return std::string(parts.local).append("@").append(parent);
    }
    return std::nullopt;
}

} // namespace decide

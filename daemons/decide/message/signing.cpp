#include "daemons/decide/message/signing.h"

namespace decide {
namespace {

const SigningRule* rule_of(const std::vector<SigningRule>& rules, std::string_view domain) {
    if (domain.empty()) return nullptr;
    for (const auto& rule : rules)
        if (rule.domain == domain) return &rule;
    for (const auto& rule : rules)
        if (rule.domains.contains(domain)) return &rule;
    for (auto dot = domain.find('.'); dot != domain.npos; dot = domain.find('.', dot + 1))
        for (const auto& rule : rules)
            if (rule.domains.contains(domain.substr(dot))) return &rule;
    return nullptr;
}

} // namespace

const SigningRule* signing_rule(const std::vector<SigningRule>& rules, std::string_view from_domain,
                                std::string_view sender_domain, MailOrigin came) {
    const auto* rule = rule_of(rules, from_domain);
    if (!rule) rule = rule_of(rules, sender_domain);
    return rule && any_of(rule->sign, came) ? rule : nullptr;
}

} // namespace decide

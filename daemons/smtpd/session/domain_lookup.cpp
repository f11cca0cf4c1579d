#include "daemons/smtpd/session/domain_lookup.h"
#include "daemons/smtpd/session/policy_sources.h"
#include "libsmtp/text/text.h"

namespace smtpd {

void DomainLookup::ask(std::string domain, const Then& then) {
    const auto& domains = rules_.config->domains;
    if (const auto named = domains.by_name(domain)) return then(*named);
    if (check_) worker_.loop.defer([gone = std::shared_ptr(std::move(check_))] {}); // it may be the caller
    check_ = std::make_unique<common::DomainCheck>(domains, domain, worker_.policy_sources->access.lookups);
    const auto found = check_->ask([this, domain, then](const decide::ClassAnswer& late) {
        answered(domain, late, then);
        resume_();
    });
    if (found) answered(domain, *found, then);
}

void DomainLookup::answered(const std::string& domain, const decide::ClassAnswer& where, const Then& then) {
    worker_.policy_sources->report_tables(!where);
    if (!where)
        log_.lines().info("the class of domain {} is not known: {}", smtp::printable(domain, 255), where.error().why);
    then(where);
}

} // namespace smtpd

// What the router says of the domains that have routes now, beside their links: which [route] their mail goes by, and
// what MTA-STS demands of it. An entry lives as long as its domain's queue. Knows nothing of what either means.
#pragma once
#include "daemons/common/proto/route.h"
#include <string>
#include <string_view>
#include <unordered_map>

namespace queue_manager {

class RoutedDomains {
public:
    void routed(const proto::route::Routed& answer) {
        if (answer.sts.domain.empty() && answer.rule.empty())
            by_domain_.erase(answer.domain);
        else
            by_domain_.insert_or_assign(answer.domain, Domain{answer.rule, answer.sts});
    }
    // One policy may be that of many domains' mail: that of the relay they go by.
    void changed(const proto::route::StsPolicy& policy) {
        for (auto& [name, known] : by_domain_)
            if (known.sts.domain == policy.domain) known.sts = policy.id.empty() ? proto::route::StsPolicy{} : policy;
    }
    void forgotten(std::string_view domain) { by_domain_.erase(std::string(domain)); }
    proto::route::StsPolicy sts_of(std::string_view domain) const {
        const auto* known = find(domain);
        return known == nullptr ? proto::route::StsPolicy{} : known->sts;
    }
    // The route's pattern; "" none.
    std::string rule_of(std::string_view domain) const {
        const auto* known = find(domain);
        return known == nullptr ? std::string() : known->rule;
    }

private:
    struct Domain {
        std::string rule;
        proto::route::StsPolicy sts;
    };
    const Domain* find(std::string_view domain) const {
        if (by_domain_.empty()) return nullptr;
        const auto known = by_domain_.find(std::string(domain));
        return known == by_domain_.end() ? nullptr : &known->second;
    }
    std::unordered_map<std::string, Domain> by_domain_;
};

} // namespace queue_manager

// What MTA-STS demands of the mail of the domains that have routes now, as the router says. An entry lives as
// long as its domain's queue. Knows nothing of what the demands mean.
#pragma once
#include "daemons/common/proto/route.h"
#include <string>
#include <string_view>
#include <unordered_map>

namespace queue_manager {

class DomainPolicies {
public:
    void routed(const proto::route::Routed& answer) {
        if (answer.sts.domain.empty())
            by_domain_.erase(answer.domain);
        else
            by_domain_.insert_or_assign(answer.domain, answer.sts);
    }
    // One policy may be that of many domains' mail: that of the relay they go by.
    void changed(const proto::route::StsPolicy& policy) {
        if (policy.id.empty())
            std::erase_if(by_domain_, [&](auto& each) { return each.second.domain == policy.domain; });
        for (auto& [domain, known] : by_domain_)
            if (known.domain == policy.domain) known = policy;
    }
    void forgotten(std::string_view domain) { by_domain_.erase(std::string(domain)); }
    proto::route::StsPolicy of(std::string_view domain) const {
        if (by_domain_.empty()) return {};
        const auto known = by_domain_.find(std::string(domain));
        return known == by_domain_.end() ? proto::route::StsPolicy{} : known->second;
    }

private:
    std::unordered_map<std::string, proto::route::StsPolicy> by_domain_;
};

} // namespace queue_manager

#include "daemons/common/config/sections/server/access.h"
#include "daemons/common/config/sections/server/listener.h"
#include <algorithm>

namespace config {

using decide::access::Check;
using decide::access::List;
using decide::access::Rule;

const std::vector<Rule>& AccessRules::list(List which) const {
    switch (which) {
    case List::client: return client;
    case List::helo: return helo;
    case List::sender: return sender;
    case List::relay: return relay;
    case List::recipient: return recipient;
    case List::data: return data;
    case List::end_of_data: break;
    }
    return end_of_data;
}

const AccessRules* access_rules_for(const std::vector<AccessRules>& all, const Listener& listener) {
    const auto names_it = [&](const AccessRules& rules) {
        return std::ranges::find(rules.listeners, listener.name) != rules.listeners.end();
    };
    if (const auto found = std::ranges::find_if(all, names_it); found != all.end()) return &*found;
    if (listener.service != Service::relay) return nullptr;
    const auto found = std::ranges::find_if(all, [](const auto& rules) { return rules.listeners.empty(); });
    return found == all.end() ? nullptr : &*found;
}

decide::access::RuleSet rule_set(const AccessRules& rules, const std::vector<AccessClass>& classes,
                                 std::string_view recipient_delimiter) {
    decide::access::RuleSet set;
    for (const auto list : access_lists)
        if (!rules.list(list).empty()) set.lists[list] = rules.list(list);
    for (const auto& each : classes) set.classes[each.name] = each.rules;
    set.delay_reject = rules.delay_reject;
    set.parent_domains = rules.parent_domains;
    set.recipient_delimiter = recipient_delimiter.empty() ? '\0' : recipient_delimiter.front();
    return set;
}

std::vector<std::string> tables_of(const std::vector<Rule>& rules) {
    std::vector<std::string> out;
    for (const auto& rule : rules)
        if (rule.check == Check::table) out.push_back(rule.argument);
    return out;
}

std::set<std::string, std::less<>> policy_services_in(const std::vector<AccessRules>& all,
                                                      const std::vector<AccessClass>& classes) {
    std::set<std::string, std::less<>> out;
    const auto look = [&](const std::vector<Rule>& rules) {
        for (const auto& rule : rules)
            if (rule.check == Check::policy_service) out.insert(rule.argument);
    };
    for (const auto& rules : all)
        for (const auto list : access_lists) look(rules.list(list));
    for (const auto& each : classes) look(each.rules);
    return out;
}

} // namespace config

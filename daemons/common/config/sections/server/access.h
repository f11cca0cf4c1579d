// Access rules of listeners and the classes they use. Part of Config.
#pragma once
#include "daemons/decide/access/rule.h"
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace config {

struct Listener;

struct AccessRules { // [access.<name>]
    std::string name;
    std::vector<std::string> listeners; // empty: all whose service is relay
    bool delay_reject = true, parent_domains = true;
    std::vector<decide::access::Rule> client, helo, sender, relay, recipient, data, end_of_data;

    const std::vector<decide::access::Rule>& list(decide::access::List which) const;
};

struct AccessClass { // [access_class.<name>]
    std::string name;
    std::vector<decide::access::Rule> rules;
};

inline constexpr std::array access_lists = {decide::access::List::client,     decide::access::List::helo,
                                            decide::access::List::sender,     decide::access::List::relay,
                                            decide::access::List::recipient,  decide::access::List::data,
                                            decide::access::List::end_of_data};

// The rules for the clients of a listener; null: it has none.
const AccessRules* access_rules_for(const std::vector<AccessRules>& all, const Listener& listener);
// The same in the form that is evaluated.
decide::access::RuleSet rule_set(const AccessRules& rules, const std::vector<AccessClass>& classes,
                                 std::string_view recipient_delimiter);
// The tables that rules name, and the policy services.
std::vector<std::string> tables_of(const std::vector<decide::access::Rule>& rules);
std::set<std::string, std::less<>> policy_services_in(const std::vector<AccessRules>& all,
                                                      const std::vector<AccessClass>& classes);

} // namespace config

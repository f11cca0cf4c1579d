#include "daemons/router/tls_totals.h"
#include <algorithm>
#include <nlohmann/json.hpp>

namespace router {

using decide::TlsPolicyType;
using decide::TlsResult;

void TlsTotals::count(const decide::TlsOutcome& outcome, std::uint64_t sessions, const std::vector<std::string>& text,
                      const std::vector<std::string>& hosts) {
    if (!domains.contains(outcome.domain) && domains.size() >= max_domains) return;
    auto& policies = domains[outcome.domain];
    auto policy =
        std::ranges::find_if(policies, [&](auto& each) { return each.type == outcome.policy && each.text == text; });
    if (policy == policies.end()) {
        if (policies.size() >= max_policies) return;
        policies.push_back({outcome.policy, text, hosts, 0, 0, {}});
        policy = std::prev(policies.end());
    }
    if (outcome.result == TlsResult::success) {
        policy->good += sessions;
        return;
    }
    policy->bad += sessions;
    TlsFailures failures{outcome.result, outcome.sender, outcome.host, outcome.address,
                         outcome.reason, sessions,       outcome.helo};
    const auto known = std::ranges::find_if(policy->failures, [&](auto& each) { return each.same(failures); });
    if (known != policy->failures.end())
        known->sessions += sessions;
    else if (policy->failures.size() < max_failures)
        policy->failures.push_back(std::move(failures));
}

std::string TlsTotals::encode() const {
    auto out = nlohmann::json::object();
    for (const auto& [domain, policies] : domains) {
        auto& list = out[domain] = nlohmann::json::array();
        for (const auto& policy : policies) {
            auto failures = nlohmann::json::array();
            for (const auto& f : policy.failures)
                failures.push_back(
                    {static_cast<int>(f.result), f.sender, f.host, f.address, f.reason, f.sessions, f.helo});
            list.push_back(
                {static_cast<int>(policy.type), policy.text, policy.hosts, policy.good, policy.bad, failures});
        }
    }
    return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::optional<TlsTotals> TlsTotals::decode(std::string_view text) {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_object()) return {};
    const auto is = [](const nlohmann::json& list, std::initializer_list<nlohmann::json::value_t> types) {
        if (!list.is_array() || list.size() != types.size()) return false;
        return std::equal(types.begin(), types.end(), list.begin(),
                          [](auto type, const nlohmann::json& each) { return each.type() == type; });
    };
    const auto words = [](const nlohmann::json& list) {
        return std::ranges::all_of(list, [](const nlohmann::json& each) { return each.is_string(); });
    };
    using enum nlohmann::json::value_t;
    TlsTotals out;
    for (const auto& [domain, policies] : json.items()) {
        if (!policies.is_array()) return {};
        for (const auto& p : policies) {
            if (!is(p, {number_unsigned, array, array, number_unsigned, number_unsigned, array}) || !words(p[1]) ||
                !words(p[2]) || p[0] > static_cast<unsigned>(TlsPolicyType::last_))
                return {};
            TlsPolicyTotals policy{static_cast<TlsPolicyType>(p[0].get<unsigned>()), p[1], p[2], p[3], p[4], {}};
            for (const auto& f : p[5]) {
                const bool named = is(f, {number_unsigned, string, string, string, string, number_unsigned, string});
                if ((!named &&
                     !is(f, {number_unsigned, string, string, string, string, number_unsigned})) || // as once written
                    f[0] > static_cast<unsigned>(TlsResult::last_))
                    return {};
                policy.failures.push_back({static_cast<TlsResult>(f[0].get<unsigned>()), f[1], f[2], f[3], f[4], f[5],
                                           named ? f[6].get<std::string>() : ""});
            }
            out.domains[domain].push_back(std::move(policy));
        }
    }
    return out;
}

} // namespace router

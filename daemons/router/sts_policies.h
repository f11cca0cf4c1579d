// The MTA-STS policies of domains (RFC 8461): fetched through the DNS and the domain's web server at first contact,
// kept as long as each says, renewed in the background before that, across restarts of the system as well. Knows
// nothing about routes; what a policy means for a connection is smtp-client's business.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/common/net/dns/resolver.h"
#include "daemons/common/net/https.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/router/lookup_limiter.h"
#include "daemons/router/sts_store.h"
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace router {

class StsPolicies {
public:
    static constexpr std::size_t max_active = 50;  // domains being asked; more wait …
    static constexpr std::size_t max_slow = 1'000; // … in addition to those that take long
    // Mail waits no longer for the answer: it is sent without a policy until there is one.
    static constexpr smtp::Duration patience = std::chrono::seconds(10);
    // A failed fetch is not repeated before this time (RFC 8461, 3.3).
    static constexpr smtp::Duration failed_for = std::chrono::minutes(5);
    // Renewed at this interval, or after half the policy's lifetime if that is shorter; but not if no mail has used
    // it for `forgotten_after`.
    static constexpr smtp::Duration renewed_after = std::chrono::hours(24);
    static constexpr smtp::Duration forgotten_after = std::chrono::days(30);

    // Why a domain's policy was not available, for TLS reports.
    enum class Failure : std::uint8_t { fetch, invalid, certificate };

    struct Callbacks {
        // A policy in use was replaced, or is no longer valid (null).
        std::function<void(const std::string& domain, const StsPolicy*)> changed;
        std::function<void(const std::string& domain, Failure, const std::string& why)> failed = {};
    };
    // `directory` exists.
    StsPolicies(common::Loop& loop, common::Log& log, std::string directory, Callbacks callbacks);
    StsPolicies(const StsPolicies&) = delete;
    StsPolicies& operator=(const StsPolicies&) = delete;

    // The resolver and client for lookups from now on; null: no lookups. Those under way end without calling `done`.
    void use(dns::Resolver* resolver, common::Https* https);

    // Null: the domain has none. It is valid until the next call of anything here.
    using Done = std::function<void(const StsPolicy*, std::uint32_t valid_seconds)>;
    // `domain` in its DNS form. Called at once if a policy is known; else after it has been looked up.
    void find(const std::string& domain, Done done);
    // Asks about a domain that find() will be called for.
    void prefetch(const std::string& domain) { check(domain); }
    // What is known now; null: nothing that is still good.
    const StsPolicy* known(const std::string& domain) const { return valid_policy(domain); }

private:
    // One domain being asked.
    struct Check {
        std::vector<Done> waiting;
        std::string id;          // of the record found
        bool renew = false;      // fetch, even if the id has not changed
        smtp::Monotonic asked{}; // when
        LookupLimiter::Ticket ticket = 0;
        dns::Lookup record, a, aaaa;
        std::size_t open = 0; // address lookups
        std::vector<common::IpAddress> v6, v4;
        std::unique_ptr<common::Https::Exchange> exchange;
        std::uint32_t valid = 60; // seconds an answer "none" holds
    };

    Check& check(const std::string& domain);
    void begin_waiting();
    void record_found(const std::string& domain, const dns::Answer& answer);
    void look_for_host(const std::string& domain, Check& check);
    void fetch(const std::string& domain, Check& check);
    void fetched(const std::string& domain, const common::Https::Answer& answer);
    void failed(const std::string& domain, Failure failure, const std::string& why);
    void postpone_fetch(const std::string& domain);
    void store(const std::string& domain, decide::sts::Policy policy, const std::string& id);
    void finish(const std::string& domain);
    const StsPolicy* valid_policy(const std::string& domain) const;
    void save(const std::string& domain);
    smtp::WallTime due(const std::string& domain, const StsPolicy& policy) const;
    void answer_overdue();
    void maintain();
    void plan(const std::string& domain); // works out again when it is to be renewed or dropped
    void remove_from_plan(const std::string& domain);
    void arm_timer();

    common::Log& log_;
    StsStore store_;
    Callbacks callbacks_;
    dns::Resolver* resolver_ = nullptr;
    common::Https* https_ = nullptr;
    std::map<std::string, StsPolicy> policies_;
    std::map<std::string, smtp::Monotonic> failed_; // not to be fetched before
    std::map<std::string, Check> checks_;
    std::deque<std::string> waiting_; // of them, those not begun
    LookupLimiter limiter_;
    std::deque<std::pair<std::string, smtp::Monotonic>>
        waiting_since_; // domains that may have waited too long, in their order
    common::Timer overdue_timer_;
    std::set<std::pair<smtp::WallTime, std::string>> plan_;   // the next renewals and expiries, and …
    std::unordered_map<std::string, smtp::WallTime> planned_; // … the entry of each domain
    common::Timer timer_;                                     // for it
    common::TurnHook turn_;                                   // begins what waits
};

} // namespace router

#include "daemons/router/sts_policies.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <utility>

namespace router {

using common::Loop;
using decide::LookupStatus;
using namespace std::chrono_literals;

namespace {

constexpr std::uint32_t good_for = 3600; // seconds until the queue-manager asks again: an id changes
constexpr std::uint32_t none_for =
    60; // … at least, if there is no policy: a name server that forbids caching costs no more
constexpr std::size_t max_addresses = 10;
constexpr std::size_t max_failures = 10'000;
constexpr auto one_day = std::chrono::days(1);

} // namespace

StsPolicies::StsPolicies(common::Loop& loop, common::Log& log, std::string directory, Callbacks callbacks)
    : log_(log), store_(std::move(directory)), callbacks_(std::move(callbacks)),
      limiter_(loop, {max_active, max_slow}, [this] { turn_.schedule(); }),
      overdue_timer_(loop, [this] { answer_overdue(); }), timer_(loop, [this] { maintain(); }),
      turn_(loop, [this] { begin_waiting(); }) {
    auto loaded = store_.load();
    for (const auto& problem : loaded.problems) log_.warning("{}; ignored", problem);
    policies_ = std::move(loaded.policies);
    const auto now = Loop::now().wall;
    for (auto& [domain, policy] : policies_) policy.fetched = std::min(policy.fetched, now); // clocks are set back
}

void StsPolicies::use(dns::Resolver* resolver, common::Https* https) {
    checks_.clear();
    waiting_.clear();
    limiter_.release_all();
    waiting_since_.clear();
    resolver_ = resolver;
    https_ = https;
    timer_.stop();
    if (!resolver_) return;
    for (const auto& [domain, policy] : policies_) plan(domain);
    maintain();
}

const StsPolicy* StsPolicies::valid_policy(const std::string& domain) const {
    const auto known = policies_.find(domain);
    return known != policies_.end() && Loop::now().wall < known->second.expires() ? &known->second : nullptr;
}

void StsPolicies::find(const std::string& domain, Done done) {
    auto& under_way = check(domain); // the id may have changed
    const auto* known = valid_policy(domain);
    if (!known) {
        under_way.waiting.push_back(std::move(done));
        return;
    }
    auto& used = policies_.find(domain)->second.used;
    if (const auto now = Loop::now().wall; now - used >= one_day) {
        used = now;
        save(domain);
        plan(domain);
    }
    done(known, good_for);
}

// --- asking
// ---------------------------------------------------------------------------------------------------------

StsPolicies::Check& StsPolicies::check(const std::string& domain) {
    auto [place, fresh] = checks_.try_emplace(domain);
    if (fresh) {
        place->second.asked = Loop::now().monotonic;
        waiting_.push_back(domain);
        waiting_since_.emplace_back(domain, place->second.asked);
        if (!overdue_timer_.armed()) overdue_timer_.start(patience);
        turn_.schedule();
    }
    return place->second;
}

// The check continues: a policy that arrives later is reported then.
void StsPolicies::answer_overdue() {
    const auto now = Loop::now().monotonic;
    std::vector<Done> waiting;
    while (!waiting_since_.empty() && now - waiting_since_.front().second >= patience) {
        const auto [domain, asked] = std::move(waiting_since_.front());
        waiting_since_.pop_front();
        const auto found = checks_.find(domain);
        if (found == checks_.end() || found->second.asked != asked) continue;
        std::ranges::move(std::exchange(found->second.waiting, {}), std::back_inserter(waiting));
    }
    if (!waiting_since_.empty()) overdue_timer_.start(waiting_since_.front().second + patience - now);
    for (const auto& tell : waiting) tell(nullptr, none_for);
}

void StsPolicies::begin_waiting() {
    while (resolver_ && !waiting_.empty() && limiter_.is_free()) {
        const auto domain = std::move(waiting_.front());
        waiting_.pop_front();
        const auto found = checks_.find(domain);
        if (found == checks_.end()) continue;
        found->second.ticket = limiter_.acquire();
        found->second.record =
            resolver_->look_up("_mta-sts." + domain, dns::Type::txt,
                               [this, domain](const dns::Answer& answer) { record_found(domain, answer); });
    }
}

// Without a record, the known policy stays in force until it expires (RFC 8461, 3.1).
void StsPolicies::record_found(const std::string& domain, const dns::Answer& answer) {
    auto& check = checks_.at(domain);
    check.valid = std::clamp(answer.ttl, none_for, good_for);
    const auto id = decide::sts::find_record(answer.texts);
    if (!id) {
        if (check.renew) postpone_fetch(domain);
        return finish(domain);
    }
    const auto* known = valid_policy(domain);
    if (known && known->id == *id && !check.renew) return finish(domain);
    if (const auto failure = failed_.find(domain); failure != failed_.end()) {
        const auto left = failure->second - Loop::now().monotonic;
        if (left > 0s) {
            check.valid = static_cast<std::uint32_t>(left / 1s) + 1;
            return finish(domain);
        }
        failed_.erase(failure);
    }
    check.id = *id;
    look_for_host(domain, check);
}

void StsPolicies::look_for_host(const std::string& domain, Check& check) {
    check.open = 2;
    const auto look_up = [&](dns::Type type, std::vector<common::IpAddress> Check::* into) {
        return resolver_->look_up("mta-sts." + domain, type, [this, domain, into](const dns::Answer& answer) {
            auto& check = checks_.at(domain);
            check.*into = answer.addresses;
            if (--check.open == 0) fetch(domain, check);
        });
    };
    check.a = look_up(dns::Type::a, &Check::v4);
    check.aaaa = look_up(dns::Type::aaaa, &Check::v6);
}

void StsPolicies::fetch(const std::string& domain, Check& check) {
    common::Https::Request request;
    request.host = "mta-sts." + domain;
    request.target = "/.well-known/mta-sts.txt";
    request.largest = decide::sts::largest_policy;
    request.addresses = std::move(check.v6);
    request.addresses.insert(request.addresses.end(), check.v4.begin(), check.v4.end());
    if (request.addresses.size() > max_addresses) request.addresses.resize(max_addresses);
    if (request.addresses.empty())
        return failed(domain, Failure::fetch, fmt::format("{} has no address", request.host));
    check.exchange =
        https_->start(request, [this, domain](const common::Https::Answer& answer) { fetched(domain, answer); });
}

void StsPolicies::fetched(const std::string& domain, const common::Https::Answer& answer) {
    using Trouble = common::Https::Failure;
    if (answer.failure != Trouble::none)
        return failed(domain, answer.failure == Trouble::certificate ? Failure::certificate : Failure::fetch,
                      answer.why);
    if (answer.status != 200)
        return failed(domain, Failure::fetch, fmt::format("the web server answered {}", answer.status));
    if (answer.content_type != "text/plain")
        return failed(domain, Failure::fetch,
                      fmt::format("its type is \"{}\", not \"text/plain\"", answer.content_type));
    auto policy = decide::sts::parse_policy(answer.content);
    if (!policy) return failed(domain, Failure::invalid, policy.error());
    store(domain, *std::move(policy), checks_.at(domain).id);
    finish(domain);
}

void StsPolicies::failed(const std::string& domain, Failure failure, const std::string& why) {
    postpone_fetch(domain);
    const auto* known = valid_policy(domain);
    log_.warning("{}: the MTA-STS policy at https://mta-sts.{}/.well-known/mta-sts.txt is not available: {}; "
                 "mail is sent {}",
                 domain, domain, why,
                 known ? fmt::format("under the previous policy (id {})", known->id) : "without a policy until it is");
    if (callbacks_.failed) callbacks_.failed(domain, failure, why);
    checks_.at(domain).valid = static_cast<std::uint32_t>(failed_for / 1s);
    finish(domain);
}

void StsPolicies::postpone_fetch(const std::string& domain) {
    const auto now = Loop::now().monotonic;
    if (failed_.size() >= max_failures) std::erase_if(failed_, [&](auto& each) { return each.second <= now; });
    if (failed_.size() >= max_failures) failed_.erase(failed_.begin());
    failed_[domain] = now + failed_for;
}

void StsPolicies::finish(const std::string& domain) {
    const auto done = checks_.extract(domain);
    limiter_.release(done.mapped().ticket);
    if (policies_.contains(domain)) plan(domain);
    while (!waiting_since_.empty() && !checks_.contains(waiting_since_.front().first)) waiting_since_.pop_front();
    turn_.schedule();
    const auto* known = valid_policy(domain);
    for (const auto& tell : done.mapped().waiting) tell(known, known ? good_for : done.mapped().valid);
    arm_timer();
}

// --- keeping
// --------------------------------------------------------------------------------------------------------

void StsPolicies::store(const std::string& domain, decide::sts::Policy policy, const std::string& id) {
    if (!policies_.contains(domain) && policies_.size() >= StsStore::max_policies) { // the least recently used one goes
        const auto oldest = std::ranges::min_element(policies_, {}, [](auto& each) { return each.second.used; });
        store_.remove(oldest->first);
        remove_from_plan(oldest->first);
        policies_.erase(oldest);
    }
    const auto now = Loop::now().wall;
    auto& known = policies_[domain];
    const bool fresh = known.policy != policy || known.id != id;
    known = {std::move(policy), id, now, known.used == smtp::WallTime{} ? now : known.used};
    save(domain);
    if (!fresh) return;
    log_.info("{}: MTA-STS policy: mode={}, id={}, max_age={}, mx={}", domain, name_of(known.policy.mode), id,
              known.policy.max_age, fmt::join(known.policy.mx, " "));
    callbacks_.changed(domain, valid_policy(domain));
}

void StsPolicies::save(const std::string& domain) {
    if (const auto saved = store_.save(domain, policies_.at(domain)); !saved)
        log_.warning("{}: the MTA-STS policy of {} will be lost at a restart", saved.error().what, domain);
}

smtp::WallTime StsPolicies::due(const std::string& domain, const StsPolicy& policy) const {
    const auto now = Loop::now();
    if (now.wall - policy.used >= forgotten_after) return policy.expires();
    auto renew =
        policy.fetched + std::min<smtp::Duration>(renewed_after, std::chrono::seconds(policy.policy.max_age) / 2);
    if (const auto failure = failed_.find(domain); failure != failed_.end())
        renew = std::max(renew, now.wall + (failure->second - now.monotonic));
    return std::min(renew, policy.expires());
}

// The planned time may be too early: it is checked again then. It is never too late.
void StsPolicies::plan(const std::string& domain) {
    remove_from_plan(domain);
    const auto at = due(domain, policies_.at(domain));
    plan_.emplace(at, domain);
    planned_.emplace(domain, at);
}

void StsPolicies::remove_from_plan(const std::string& domain) {
    const auto known = planned_.find(domain);
    if (known == planned_.end()) return;
    plan_.erase({known->second, domain});
    planned_.erase(known);
}

void StsPolicies::maintain() {
    const auto now = Loop::now().wall;
    while (!plan_.empty() && plan_.begin()->first <= now) {
        const auto domain = plan_.begin()->second;
        remove_from_plan(domain);
        const auto known = policies_.find(domain);
        if (now >= known->second.expires()) {
            log_.info("{}: MTA-STS policy {} has expired", domain, known->second.id);
            store_.remove(domain);
            policies_.erase(known);
            callbacks_.changed(domain, nullptr);
        } else if (now >= due(domain, known->second)) {
            check(domain).renew = true; // planned again when that has ended
        } else {
            plan(domain);
        }
    }
    arm_timer();
}

void StsPolicies::arm_timer() {
    if (!resolver_) return;
    const smtp::Duration next =
        plan_.empty() ? smtp::Duration(1h) : smtp::Duration(plan_.begin()->first - Loop::now().wall);
    timer_.start(std::clamp<smtp::Duration>(next, 1s, 1h));
}

} // namespace router

#include "daemons/smtpd/auth/lockouts.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <iterator>

namespace smtpd {

namespace {

std::string key_of(std::string_view user) {
    constexpr std::size_t longest = 255;
    return smtp::lowered(user.substr(0, longest));
}

} // namespace

void Lockouts::sweep(smtp::Monotonic now, smtp::Duration window) {
    const bool full = users_ >= max_entries || networks_.size() >= max_entries;
    if (now - last_sweep_ <= (full ? window / 10 : window)) return;
    last_sweep_ = now;
    for (auto each = networks_.begin(); each != networks_.end();) {
        auto& network = each->second;
        users_ -= std::erase_if(network.users, [&](auto& user) { return now - user.second.since > window; });
        const bool over = network.users.empty() && now - network.all.since > window;
        each = over ? networks_.erase(each) : std::next(each);
    }
}

Lockouts::Triggered Lockouts::record_failure(const std::string& name, std::string_view user, const Limits& limits,
                                             smtp::Monotonic now) {
    sweep(now, limits.window);
    if (!networks_.contains(name) && networks_.size() >= max_entries) return {};
    if (user_locked_for(name, user, limits, now)) return {};
    const auto count = [&](Count& at) {
        if (at.failures == 0 || now - at.since > limits.window) at = {0, now};
        ++at.failures;
    };
    auto& network = networks_[name];
    count(network.all);
    Triggered brought;
    brought.network = network.all.failures == limits.per_network;
    if (user.empty()) return brought;
    const auto key = key_of(user);
    if (!network.users.contains(key)) {
        if (users_ >= max_entries) return brought; // the network's count stays
        ++users_;
    }
    auto& of_this = network.users[key];
    count(of_this);
    brought.user = of_this.failures == limits.per_user;
    return brought;
}

void Lockouts::record_success(const std::string& name, std::string_view user) {
    const auto network = networks_.find(name);
    if (network == networks_.end()) return;
    const auto known = network->second.users.find(key_of(user));
    if (known == network->second.users.end()) return;
    auto& all = network->second.all.failures;
    all -= std::min(all, known->second.failures);
    network->second.users.erase(known);
    --users_;
}

std::optional<smtp::Duration> Lockouts::user_locked_for(const std::string& name, std::string_view user,
                                                        const Limits& limits, smtp::Monotonic now) const {
    const auto network = networks_.find(name);
    if (limits.per_user == 0 || user.empty() || network == networks_.end()) return {};
    const auto known = network->second.users.find(key_of(user));
    if (known == network->second.users.end() || known->second.failures < limits.per_user) return {};
    const auto left = known->second.since + limits.window - now;
    if (left <= smtp::Duration::zero()) return {};
    return left;
}

std::optional<smtp::Duration> Lockouts::network_locked_for(const std::string& name, const Limits& limits,
                                                           smtp::Monotonic now) const {
    const auto network = networks_.find(name);
    if (limits.per_network == 0 || network == networks_.end()) return {};
    if (network->second.all.failures < limits.per_network) return {};
    const auto left = network->second.all.since + limits.window - now;
    if (left <= smtp::Duration::zero()) return {};
    return left;
}

void Lockouts::clear() {
    networks_.clear();
    users_ = 0;
}

} // namespace smtpd

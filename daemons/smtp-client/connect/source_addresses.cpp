#include "daemons/smtp-client/connect/source_addresses.h"
#include "daemons/decide/outcome/source_choice.h"
#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace smtp_client {

SourceAddresses::SourceAddresses(std::shared_ptr<const config::Pool> pool, const std::vector<std::string>& resting,
                                 std::size_t max_rejections, std::mt19937& random)
    : pool_(std::move(pool)), random_(random), rejections_left_(max_rejections) {
    if (!pool_) return;
    states_.resize(pool_->addresses.size());
    for (std::size_t i = 0; i < states_.size() && !resting.empty(); ++i)
        states_[i].backing_off = std::ranges::find(resting, pool_->addresses[i].address.to_string()) != resting.end();
}

std::size_t SourceAddresses::index_of(const config::SourceAddress& source) const {
    return static_cast<std::size_t>(&source - pool_->addresses.data());
}

bool SourceAddresses::reaches(Family family) const {
    return !pool_ ||
           std::ranges::any_of(pool_->addresses, [&](auto& each) { return family_of(each.address) == family; });
}

const config::SourceAddress* SourceAddresses::choose(Family family, Among among) {
    using decide::SourceState;
    std::vector<decide::SourceOption> options;
    const auto backing_off = among == Among::all ? SourceState::backing_off : SourceState::refused;
    for (std::size_t i = 0; i < states_.size(); ++i) {
        const auto& source = pool_->addresses[i];
        options.push_back({source.weight, family_of(source.address) != family          ? SourceState::wrong_family
                                          : states_[i].rejected || states_[i].unusable ? SourceState::refused
                                          : states_[i].backing_off                     ? backing_off
                                                                                       : SourceState::ready});
    }
    const auto place = decide::choose_source(options, std::uint64_t{random_()} << 32 | random_());
    return place ? &pool_->addresses[*place] : nullptr;
}

const config::SourceAddress* SourceAddresses::source_for(const common::IpAddress& to) {
    if (!pool_) return nullptr;
    const auto family = family_of(to);
    auto& chosen = chosen_[static_cast<std::size_t>(family)];
    if (!chosen) chosen = choose(family);
    return chosen;
}

const config::SourceAddress* SourceAddresses::usable(const std::string& source) const {
    if (!pool_ || source.empty()) return nullptr;
    const auto place = std::ranges::find(pool_->addresses, source, [](auto& each) { return each.address.to_string(); });
    if (place == pool_->addresses.end()) return nullptr;
    const auto& known = states_[index_of(*place)];
    return known.rejected || known.unusable || known.backing_off ? nullptr : &*place;
}

void SourceAddresses::prefer(const std::string& source) {
    if (const auto* its = usable(source)) chosen_[static_cast<std::size_t>(family_of(its->address))] = its;
}

bool SourceAddresses::switch_to_preferred(const std::string& source) {
    const auto* its = usable(source);
    if (!its || !current_ || its == current_ || family_of(its->address) != family_of(current_->address)) return false;
    prefer(source);
    return true;
}

// Those that this host does not have: "192.0.2.1, 192.0.2.2".
std::string SourceAddresses::missing_addresses() const {
    std::string out;
    for (std::size_t i = 0; i < states_.size(); ++i)
        if (states_[i].unusable) out += (out.empty() ? "" : ", ") + pool_->addresses[i].address.to_string();
    return out;
}

std::string SourceAddresses::why_no_source_for(const common::IpAddress& to) const {
    const bool v4 = to.is_v4();
    if (!(v4 ? reaches_v4() : reaches_v6()))
        return fmt::format("the pool {} has no {} address", pool_name(), v4 ? "IPv4" : "IPv6");
    const auto missing = missing_addresses();
    if (missing.empty()) return fmt::format("no other address of the pool {} is available", pool_name());
    return fmt::format("no address of the pool {} can be used: this host does not have {}", pool_name(), missing);
}

std::string SourceAddresses::description() const {
    if (!current_) return {};
    const auto missing = missing_addresses();
    return fmt::format("from {} of the pool {}{}", current_text(), pool_name(),
                       missing.empty() ? "" : fmt::format(" (this host does not have {})", missing));
}

void SourceAddresses::mark_unusable(const config::SourceAddress& source) {
    auto& known = states_[index_of(source)];
    if (std::exchange(known.unusable, true)) return;
    unusable_.push_back(source.address.to_string());
    chosen_[static_cast<std::size_t>(family_of(source.address))] = nullptr;
}

bool SourceAddresses::rejected_by_server(std::string why) {
    if (!current_) return false;
    states_[index_of(*current_)].rejected = true;
    rejections_.push_back({current_text(), std::move(why)});
    return choose_another(Among::all);
}

bool SourceAddresses::rejected_by_site() {
    if (!current_) return false;
    auto& known = states_[index_of(*current_)];
    known.rejected = known.backing_off = true;
    return choose_another(Among::not_backing_off);
}

void SourceAddresses::end_backoff() { states_[index_of(*current_)].backing_off = false; }

bool SourceAddresses::choose_another(Among among) {
    if (rejections_left_ == 0) return false;
    const auto family = family_of(current_->address);
    const auto* next = choose(family, among);
    if (!next) return false;
    --rejections_left_;
    chosen_[static_cast<std::size_t>(family)] = next;
    return true;
}

void SourceAddresses::next_server() {
    for (auto& each : states_) each.rejected = false;
    rejections_.clear();
    current_ = nullptr;
}

std::vector<SourceAddresses::Rejection> SourceAddresses::take_rejections() { return std::exchange(rejections_, {}); }
std::vector<std::string> SourceAddresses::take_unusable() { return std::exchange(unusable_, {}); }

} // namespace smtp_client

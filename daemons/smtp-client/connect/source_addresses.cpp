#include "daemons/smtp-client/connect/source_addresses.h"
#include "daemons/decide/outcome/source_choice.h"
#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace smtp_client {

Sources::Sources(std::shared_ptr<const config::Pool> pool, const std::vector<std::string>& resting,
                 std::size_t most_refusals, std::mt19937& random)
    : pool_(std::move(pool)), random_(random), refusals_left_(most_refusals) {
    if (!pool_) return;
    known_.resize(pool_->addresses.size());
    for (std::size_t i = 0; i < known_.size() && !resting.empty(); ++i)
        known_[i].resting = std::ranges::find(resting, pool_->addresses[i].address.to_string()) != resting.end();
}

std::size_t Sources::place_of(const config::Source& source) const {
    return static_cast<std::size_t>(&source - pool_->addresses.data());
}

bool Sources::reaches(Family family) const {
    return !pool_ ||
           std::ranges::any_of(pool_->addresses, [&](auto& each) { return family_of(each.address) == family; });
}

const config::Source* Sources::choose(Family family, Among among) {
    using decide::Standing;
    std::vector<decide::SourceOption> options;
    const auto resting = among == Among::all ? Standing::resting : Standing::refused;
    for (std::size_t i = 0; i < known_.size(); ++i) {
        const auto& source = pool_->addresses[i];
        options.push_back({source.weight, family_of(source.address) != family          ? Standing::unfit
                                          : known_[i].refused || known_[i].unusable ? Standing::refused
                                          : known_[i].resting                       ? resting
                                                                                    : Standing::ready});
    }
    const auto place = decide::choose_source(options, std::uint64_t{random_()} << 32 | random_());
    return place ? &pool_->addresses[*place] : nullptr;
}

const config::Source* Sources::toward(const common::IpAddress& to) {
    if (!pool_) return nullptr;
    const auto family = family_of(to);
    auto& chosen = chosen_[static_cast<std::size_t>(family)];
    if (!chosen) chosen = choose(family);
    return chosen;
}

const config::Source* Sources::good(const std::string& source) const {
    if (!pool_ || source.empty()) return nullptr;
    const auto place = std::ranges::find(pool_->addresses, source, [](auto& each) { return each.address.to_string(); });
    if (place == pool_->addresses.end()) return nullptr;
    const auto& known = known_[place_of(*place)];
    return known.refused || known.unusable || known.resting ? nullptr : &*place;
}

void Sources::prefer(const std::string& source) {
    if (const auto* its = good(source)) chosen_[static_cast<std::size_t>(family_of(its->address))] = its;
}

bool Sources::would_rather(const std::string& source) {
    const auto* its = good(source);
    if (!its || !current_ || its == current_ || family_of(its->address) != family_of(current_->address)) return false;
    prefer(source);
    return true;
}

// Those that this host does not have: "192.0.2.1, 192.0.2.2".
std::string Sources::not_ours() const {
    std::string out;
    for (std::size_t i = 0; i < known_.size(); ++i)
        if (known_[i].unusable) out += (out.empty() ? "" : ", ") + pool_->addresses[i].address.to_string();
    return out;
}

std::string Sources::none_toward(const common::IpAddress& to) const {
    const bool v4 = to.is_v4();
    if (!(v4 ? reaches_v4() : reaches_v6()))
        return fmt::format("the pool {} has no {} address", pool_name(), v4 ? "IPv4" : "IPv6");
    const auto missing = not_ours();
    if (missing.empty()) return fmt::format("no address of the pool {} is left", pool_name());
    return fmt::format("no address of the pool {} can be used: this host does not have {}", pool_name(), missing);
}

std::string Sources::departure() const {
    if (!current_) return {};
    const auto missing = not_ours();
    return fmt::format("from {}, of the pool {}{}", current_text(), pool_name(),
                       missing.empty() ? "" : fmt::format(" (this host does not have {})", missing));
}

void Sources::unusable(const config::Source& source) {
    auto& known = known_[place_of(source)];
    if (std::exchange(known.unusable, true)) return;
    unusable_.push_back(source.address.to_string());
    chosen_[static_cast<std::size_t>(family_of(source.address))] = nullptr;
}

bool Sources::refused(std::string why) {
    if (!current_) return false;
    known_[place_of(*current_)].refused = true;
    refusals_.push_back({current_text(), std::move(why)});
    return another(Among::all);
}

bool Sources::refused_by_site() {
    if (!current_) return false;
    auto& known = known_[place_of(*current_)];
    known.refused = known.resting = true;
    return another(Among::those_that_do_not_rest);
}

void Sources::rested() { known_[place_of(*current_)].resting = false; }

bool Sources::another(Among among) {
    if (refusals_left_ == 0) return false;
    const auto family = family_of(current_->address);
    const auto* next = choose(family, among);
    if (!next) return false;
    --refusals_left_;
    chosen_[static_cast<std::size_t>(family)] = next;
    return true;
}

void Sources::next_server() {
    for (auto& each : known_) each.refused = false;
    refusals_.clear();
    current_ = nullptr;
}

std::vector<Sources::Refusal> Sources::taken_instead() { return std::exchange(refusals_, {}); }
std::vector<std::string> Sources::found_unusable() { return std::exchange(unusable_, {}); }

} // namespace smtp_client

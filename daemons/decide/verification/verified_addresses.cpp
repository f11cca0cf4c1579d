#include "daemons/decide/verification/verified_addresses.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <iterator>
#include <utility>

namespace decide::verification {

namespace {

constexpr char record_version = 1;

void append_number(std::string& out, std::uint64_t value) {
    for (int shift = 56; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xff);
}

std::uint64_t number_at(std::string_view bytes) {
    std::uint64_t value = 0;
    for (const char byte : bytes.substr(0, 8)) value = value << 8 | static_cast<unsigned char>(byte);
    return value;
}

} // namespace

std::string_view name_of(Deliverability what) {
    constexpr std::string_view names[] = {"unknown", "deliverable", "undeliverable", "unreachable"};
    return names[static_cast<std::size_t>(what)];
}

std::string key_of(std::string_view address) {
    return address.size() > longest_address ? std::string() : smtp::lowered(address);
}

// Version, what, doubted, checked (8 bytes), the host's length (1 byte), host, text.
std::string encode(const Entry& entry) {
    std::string out{record_version, static_cast<char>(entry.result.what), static_cast<char>(entry.doubted)};
    append_number(out, static_cast<std::uint64_t>(entry.checked.time_since_epoch().count()));
    const auto host = std::string_view(entry.result.host).substr(0, 255);
    out += static_cast<char>(host.size());
    return out.append(host).append(entry.result.text, 0, longest_text);
}

std::optional<Entry> decode(std::string_view bytes) {
    constexpr std::size_t fixed = 12;
    if (bytes.size() < fixed || bytes[0] != record_version) return {};
    const auto what = static_cast<unsigned char>(bytes[1]);
    if (what > static_cast<unsigned char>(Deliverability::last_) || static_cast<unsigned char>(bytes[2]) > 1) return {};
    Entry entry;
    entry.result.what = static_cast<Deliverability>(what);
    entry.doubted = bytes[2] != 0;
    entry.checked = smtp::WallTime(smtp::Duration(static_cast<std::int64_t>(number_at(bytes.substr(3)))));
    const std::size_t host = static_cast<unsigned char>(bytes[11]);
    bytes.remove_prefix(fixed);
    if (bytes.size() < host || bytes.size() - host > longest_text) return {};
    entry.result.host = bytes.substr(0, host);
    entry.result.text = bytes.substr(host);
    return entry;
}

void VerifiedAddresses::configure(const Settings& settings) {
    settings_ = settings;
    make_room(settings_.most);
}

smtp::WallTime VerifiedAddresses::expiry_of(const Entry& entry) const {
    switch (entry.result.what) {
    case Deliverability::deliverable: return entry.checked + settings_.positive_lifetime;
    case Deliverability::undeliverable: return entry.checked + settings_.negative_lifetime;
    case Deliverability::unreachable: return entry.checked + settings_.temporary_lifetime;
    case Deliverability::unknown: break;
    }
    return {};
}

bool VerifiedAddresses::restore(const std::string& key, Entry entry, smtp::WallTime now) {
    if (expiry_of(entry) <= now || entry.checked > now || index_.contains(key) || index_.size() >= settings_.most)
        return false;
    put(key, std::move(entry), {});
    return true;
}

VerifiedAddresses::Answer VerifiedAddresses::find(std::string_view key, smtp::WallTime now) {
    const auto found = index_.find(key);
    if (found == index_.end()) return {nullptr, true};
    const auto& remembered = *found->second;
    const auto& entry = remembered.entry;
    // The clock may have been set back: what comes from its future does not last for ever.
    if (expiry_of(entry) <= now || entry.checked > now) {
        changes_.push_back({remembered.key, {}, {}});
        erase(found->second);
        return {nullptr, true};
    }
    const auto refresh = entry.result.what == Deliverability::deliverable     ? settings_.positive_refresh
                         : entry.result.what == Deliverability::undeliverable ? settings_.negative_refresh
                                                                              : settings_.temporary_lifetime;
    const bool due = entry.doubted || entry.checked + refresh <= now;
    return {&entry, due && remembered.check_after <= now};
}

void VerifiedAddresses::checked(const std::string& key, Result result, smtp::WallTime now) {
    if (key.empty()) return;
    result.text.resize(std::min(result.text.size(), longest_text));
    const auto old = find(key, now);
    const auto later = now + settings_.temporary_lifetime;
    // A server that cannot be asked says nothing new about an address; one rejection is not the end of a good one.
    if (old.entry && result.what != Deliverability::deliverable) {
        auto kept = *old.entry;
        const bool good = kept.result.what == Deliverability::deliverable;
        if (result.what == Deliverability::unreachable || result.what == Deliverability::unknown) {
            if (kept.result.what == result.what) return put(key, {std::move(result), now}, later);
            return put(key, std::move(kept), later);
        }
        if (good && !kept.doubted) {
            kept.doubted = true;
            changes_.push_back({key, kept, expiry_of(kept)});
            return put(key, std::move(kept), later);
        }
    }
    if (result.what == Deliverability::unknown) return;
    Entry entry{std::move(result), now};
    if (entry.result.what != Deliverability::unreachable) changes_.push_back({key, entry, expiry_of(entry)});
    put(key, std::move(entry), {});
}

bool VerifiedAddresses::forget(std::string_view key) {
    const auto found = index_.find(key);
    if (found == index_.end()) return false;
    changes_.push_back({found->second->key, {}, {}});
    erase(found->second);
    return true;
}

void VerifiedAddresses::put(const std::string& key, Entry entry, smtp::WallTime check_after) {
    auto& ages = ages_of(entry.result.what);
    ages.push_back({key, std::move(entry), check_after});
    const auto added = std::prev(ages.end());
    if (const auto found = index_.find(key); found != index_.end()) erase(found->second);
    make_room(settings_.most - 1);
    index_.emplace(added->key, added);
}

void VerifiedAddresses::erase(Ages::iterator at) {
    const auto what = at->entry.result.what;
    index_.erase(at->key);
    ages_of(what).erase(at);
}

// Addresses that are not deliverable go first: most of them are invented. Of each kind the oldest.
void VerifiedAddresses::make_room(std::size_t most) {
    while (index_.size() > most) {
        // The newest may be in a list, but not yet in the index.
        auto& ages = !others_.empty() && index_.contains(others_.front().key) ? others_ : good_;
        changes_.push_back({ages.front().key, {}, {}});
        erase(ages.begin());
    }
}

} // namespace decide::verification

#include "daemons/decide/queue/delivery/addresses.h"
#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace decide::queue {

namespace {
// A link that is invited may no longer need its place, so the place is kept for this long only. Waiting links also
// check for themselves at this interval.
constexpr auto recheck_interval = std::chrono::seconds(10);
} // namespace

// For a configured route, the operator has set what its hosts can bear.
std::uint32_t Addresses::limit_per_address(const Link& link) const {
    return link.mx ? settings_.connections_per_address : links_.limit_of(link);
}

bool Addresses::may_connect(Connection& c, std::string_view name, AddressRequest request) {
    if (request == AddressRequest::replace) leave_all(c);
    Link& l = links_[c.link];
    auto known = by_name_.find(name);
    if (known == by_name_.end()) {
        known = by_name_.emplace(std::string(name), addresses_.allocate()).first;
        addresses_[known->second].name = known->first;
    }
    Address& a = addresses_[known->second];
    if (a.connections + reserved_for_others(a, c.link) < limit_per_address(l)) {
        std::erase_if(a.invited, [&](const auto& each) { return each.link == c.link; });
        ++a.connections;
        c.addresses.push_back(known->second);
        l.full_address.clear();
        return true;
    }
    if (request == AddressRequest::add) return false; // the connection is trying others as well: no need to wait
    if (std::ranges::find(a.waiting_links, c.link) == a.waiting_links.end()) a.waiting_links.push_back(c.link);
    l.full_address = a.name;
    return false;
}

// Places reserved for links that were invited and have not connected yet.
std::uint32_t Addresses::reserved_for_others(Address& a, Slot link) {
    std::erase_if(a.invited, [&](const auto& each) { return each.until <= step_.now(); });
    return static_cast<std::uint32_t>(
        std::ranges::count_if(a.invited, [&](const auto& each) { return each.link != link; }));
}

void Addresses::leave_all(Connection& c) {
    for (const Slot address : std::exchange(c.addresses, {})) release(address);
}

void Addresses::leave(Connection& c, std::string_view name) {
    auto& held = c.addresses;
    const auto at = std::ranges::find(held, name, [&](Slot each) { return std::string_view(addresses_[each].name); });
    if (at == held.end()) return;
    const Slot address = *at;
    held.erase(at);
    release(address);
}

bool Addresses::waited_for(const Connection& c) const {
    return std::ranges::any_of(c.addresses, [&](Slot each) { return !addresses_[each].waiting_links.empty(); });
}

void Addresses::release(Slot address) {
    --addresses_[address].connections;
    invite_next(address);
}

void Addresses::invite_next(Slot address) {
    Address& a = addresses_[address];
    auto at = a.waiting_links.begin();
    for (; at != a.waiting_links.end() && a.connections + reserved_for_others(a, *at) < limit_per_address(links_[*at]);
         ++at) {
        Link& l = links_[*at];
        // Its agent has yet to report that it found no room.
        const bool asks = l.full_address == a.name && l.open() > 0;
        if (!at_limit(l) && !asks) continue; // found room elsewhere
        l.address_limit_until = {};
        links_.schedule(*at);
        a.invited.push_back({*at, step_.now() + recheck_interval});
    }
    a.waiting_links.erase(a.waiting_links.begin(), at);
    if (a.connections > 0 || !a.waiting_links.empty() || !a.invited.empty()) return;
    by_name_.erase(a.name);
    addresses_.release(address);
}

// Unless it was invited while its agent was reporting.
void Addresses::reached_limit(Slot link) {
    Link& l = links_[link];
    if (const Address* full = find(l.full_address);
        full && std::ranges::find(full->invited, link, &Address::Invitation::link) != full->invited.end())
        return;
    l.address_limit_until = step_.now() + recheck_interval;
    links_.timers.bring_forward(link, l.address_limit_until);
}

void Addresses::forget_link(Slot link) {
    for (Slot slot = 1; slot <= addresses_.top(); ++slot)
        if (std::erase(addresses_[slot].waiting_links, link) +
                std::erase_if(addresses_[slot].invited, [&](const auto& each) { return each.link == link; }) >
            0)
            invite_next(slot);
}

void Addresses::invite_all() {
    for (Slot slot = 1; slot <= addresses_.top(); ++slot)
        if (!addresses_[slot].name.empty()) invite_next(slot);
}

const Address* Addresses::find(std::string_view name) const {
    const auto known = by_name_.find(name);
    return known == by_name_.end() ? nullptr : &addresses_[known->second];
}

std::string Addresses::limit_text(const Link& l) const {
    const Address* full = find(l.full_address);
    return fmt::format("{} has reached the connection limit per address: {} of {}", l.full_address,
                       full ? full->connections : 0, limit_per_address(l));
}

} // namespace decide::queue

// How many connections one remote address may have, whatever links lead there: many domains with many MX
// names may all lie on one host. Where a connection leads is found out by its agent, so the agent asks here
// before each address it tries; a link that finds no room waits in the address's line until it is called.
// That is a wait of our own doing: nothing failed, no message climbs its ladder. Where several addresses race
// (RFC 8305) the connection holds a place at each of them until all but one are given back.
#include "daemons/decide/queue/core.h"
#include <algorithm>
#include <fmt/format.h>

namespace decide::queue {

namespace {
// A link that is called may have no need any more: its place is kept for so long, and those behind it look for
// themselves as well.
constexpr auto recheck_interval = std::chrono::seconds(10);
} // namespace

// The operator of a configured route has said what its hosts can bear.
std::uint32_t Core::limit_per_address(const Link& link) const {
    return link.mx ? settings_.connections_per_address : limit_of(link);
}

bool Core::may_connect(ConnectionId id, std::string_view name, AddressRequest request) {
    const Slot slot = connection_of(id);
    if (slot == none) return false;
    if (request == AddressRequest::replace) leave_addresses(slot);
    Connection& c = connections_[slot];
    Link& l = links_[c.link];
    auto known = addresses_by_name_.find(name);
    if (known == addresses_by_name_.end()) {
        known = addresses_by_name_.emplace(std::string(name), addresses_.allocate()).first;
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
    if (request == AddressRequest::add) return false; // it has other irons in the fire: nobody waits
    if (std::ranges::find(a.waiting_links, c.link) == a.waiting_links.end()) a.waiting_links.push_back(c.link);
    l.full_address = a.name;
    return false;
}

// Places kept for links that were called and have not come yet.
std::uint32_t Core::reserved_for_others(Address& a, Slot link) {
    std::erase_if(a.invited, [&](const auto& each) { return each.until <= now_.monotonic; });
    return static_cast<std::uint32_t>(
        std::ranges::count_if(a.invited, [&](const auto& each) { return each.link != link; }));
}

// The connection's places come free.
void Core::leave_addresses(Slot connection) {
    for (const Slot address : std::exchange(connections_[connection].addresses, {})) release_address(address);
}

void Core::left_address(ConnectionId id, std::string_view name) {
    const Slot slot = connection_of(id);
    if (slot == none) return;
    auto& held = connections_[slot].addresses;
    const auto at = std::ranges::find(held, name, [&](Slot each) { return std::string_view(addresses_[each].name); });
    if (at == held.end()) return;
    const Slot address = *at;
    held.erase(at);
    release_address(address);
}

void Core::release_address(Slot address) {
    --addresses_[address].connections;
    invite_next(address);
}

void Core::invite_next(Slot address) {
    Address& a = addresses_[address];
    auto at = a.waiting_links.begin();
    for (;
         at != a.waiting_links.end() && a.connections + reserved_for_others(a, *at) < limit_per_address(links_[*at]);
         ++at) {
        Link& l = links_[*at];
        const bool asks = l.full_address == a.name && l.open() > 0; // its agent has yet to say that it found none
        if (!at_address_limit(l) && !asks) continue;                   // found room elsewhere
        l.address_limit_until = {};
        schedule(*at);
        a.invited.push_back({*at, now_.monotonic + recheck_interval});
    }
    a.waiting_links.erase(a.waiting_links.begin(), at);
    if (a.connections > 0 || !a.waiting_links.empty() || !a.invited.empty()) return;
    addresses_by_name_.erase(a.name);
    addresses_.release(address);
}

// None of the addresses of its hosts had room; unless it was called while its agent was saying so.
void Core::reached_address_limit(Slot link) {
    Link& l = links_[link];
    if (const auto at = addresses_by_name_.find(l.full_address);
        at != addresses_by_name_.end() &&
        std::ranges::find(addresses_[at->second].invited, link, &Address::Invitation::link) !=
            addresses_[at->second].invited.end())
        return;
    l.address_limit_until = now_.monotonic + recheck_interval;
    link_timers_.bring_forward(link, l.address_limit_until);
}

void Core::leave_waiting_lines(Slot link) {
    for (Slot slot = 1; slot <= addresses_.top(); ++slot)
        if (std::erase(addresses_[slot].waiting_links, link) +
                std::erase_if(addresses_[slot].invited, [&](const auto& each) { return each.link == link; }) >
            0)
            invite_next(slot);
}

std::string Core::address_limit_text(const Link& l) const {
    const auto at = addresses_by_name_.find(l.full_address);
    return fmt::format("{} has reached the connection limit per address: {} of {}", l.full_address,
                       at == addresses_by_name_.end() ? 0 : addresses_[at->second].connections,
                       limit_per_address(l));
}

std::vector<AddressInfo> Core::addresses_of(Slot link) const {
    const Link& l = links_[link];
    std::vector<AddressInfo> out;
    const auto info_of = [&](const Address& a) -> AddressInfo& {
        const auto known = std::ranges::find(out, a.name, &AddressInfo::name);
        if (known != out.end()) return *known;
        return out.emplace_back(AddressInfo{a.name, a.connections, 0, limit_per_address(l)});
    };
    for (Slot slot = l.connections.head; slot != none; slot = connections_[slot].next)
        for (const Slot address : connections_[slot].addresses) ++info_of(addresses_[address]).own;
    if (const auto at = addresses_by_name_.find(l.full_address);
        at_address_limit(l) && at != addresses_by_name_.end())
        info_of(addresses_[at->second]);
    return out;
}

} // namespace decide::queue

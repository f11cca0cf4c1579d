// Limits the number of connections to one remote address, whatever links lead there: many domains with many MX names
// may all be served by one host. The agent finds out where a connection leads, so it asks here before each address it
// tries; a link that finds no room waits in the address's line until it is invited. This is a wait of our own making:
// nothing failed, and no message advances on its retry schedule. If several addresses race (RFC 8305), the connection
// holds a place at each of them until all but one are given back.
#pragma once
#include "daemons/decide/queue/model/names.h"
#include "daemons/decide/queue/model/step.h"
#include "daemons/decide/queue/tables/links.h"
#include <string>
#include <string_view>

namespace decide::queue {

class Addresses {
public:
    Addresses(const Settings& settings, Step& step, Links& links) : settings_(settings), step_(step), links_(links) {}

    bool may_connect(Connection& connection, std::string_view address, AddressRequest request);
    void leave(Connection& connection, std::string_view address);
    void leave_all(Connection& connection);
    bool waited_for(const Connection& connection) const; // does a link wait for one of its places?

    // None of the addresses of the link's hosts had room.
    void reached_limit(Slot link);
    bool at_limit(const Link& link) const { return step_.now() < link.address_limit_until; }
    void forget_link(Slot link);
    void invite_all(); // limits have changed

    std::uint32_t limit_per_address(const Link& link) const;
    std::string limit_text(const Link& link) const; // of the address that had no room last
    const Address& operator[](Slot address) const { return addresses_[address]; }
    const Address* find(std::string_view name) const; // null: no connection, and no link waits

private:
    std::uint32_t reserved_for_others(Address& address, Slot link);
    void release(Slot address);
    void invite_next(Slot address); // links that wait for room there

    const Settings& settings_;
    Step& step_;
    Links& links_;
    Slab<Address> addresses_; // that have connections, or links that wait for room
    SlotsByName by_name_;
};

} // namespace decide::queue

// The tables of addresses as other systems see them ([generic], and those of routes), for all deliveries of this
// process. Answers what is known, fetches what is not, and tells who waits for it. Knows no messages.
#pragma once
#include "daemons/common/config/sections/recipients/lookup.h"
#include "daemons/common/lookup/tables/tables.h"
#include "daemons/decide/rewriting/address_rewriting.h"
#include "daemons/decide/routing/routing.h"
#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <vector>

namespace smtp_client {

class GenericMaps {
public:
    struct Settings {
        std::vector<std::string> tables; // of mail whose route has none of its own
        std::vector<decide::RouteRule> routes;
        std::vector<config::LookupTable> sections;
        std::string maps_socket; // of the process that queries databases
        decide::RewritingSettings rewriting;
    };
    GenericMaps(common::Loop& loop, common::Log& log);
    GenericMaps(const GenericMaps&) = delete;
    GenericMaps& operator=(const GenericMaps&) = delete;

    void configure(Settings settings);
    // False: no address is rewritten.
    bool any() const { return any_; }
    // Those for mail to an address: of the route that a table named ("" none), of the route of its domain, or the
    // general ones.
    const std::vector<std::string>& tables_for(std::string_view recipient, std::string_view route) const;
    // Those for the sender and the header of one transaction to these addresses: the general ones if any recipient has
    // them, else those of the first recipient that has some. Empty: no recipient has any.
    const std::vector<std::string>& tables_for_all(const std::vector<std::string>& recipients,
                                                   std::string_view route) const;
    const decide::RewritingSettings& rewriting() const { return rewriting_; }
    const decide::ExpansionTables& lookups() const { return lookups_; }
    void ask(const decide::LookupRequest& need) { tables_.ask(need.name, need.key); }

    // Called for each answer that is known now, never from within ask() or a lookup. An empty key: of all keys of that
    // table.
    using Answered = std::function<void(const decide::LookupRequest& request)>;
    class Waiter {
    public:
        // `maps` must outlive it.
        Waiter(GenericMaps& maps, Answered answered);
        ~Waiter() { maps_.waiters_.erase(place_); }
        Waiter(const Waiter&) = delete;
        Waiter& operator=(const Waiter&) = delete;

    private:
        GenericMaps& maps_;
        std::list<Answered>::iterator place_;
    };

private:
    tables::Tables tables_;
    std::vector<std::string> general_;
    decide::RouteTable routes_;
    decide::RewritingSettings rewriting_;
    decide::ExpansionTables lookups_;
    std::list<Answered> waiters_;
    bool any_ = false;
};

} // namespace smtp_client

// The tables of addresses as other systems see them ([generic], and those of routes), for all deliveries of this
// process: which of them apply to which mail. Knows no messages.
#pragma once
#include "daemons/common/config/sections/recipients/lookup.h"
#include "daemons/common/rewriting/awaited_tables.h"
#include "daemons/decide/rewriting/address_rewriting.h"
#include "daemons/decide/routing/routing.h"
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
    common::AwaitedTables& tables() { return tables_; }

private:
    common::AwaitedTables tables_;
    std::vector<std::string> general_;
    decide::RouteTable routes_;
    decide::RewritingSettings rewriting_;
    bool any_ = false;
};

} // namespace smtp_client

#include "daemons/smtp-client/message/generic_maps.h"
#include "daemons/common/text/idn.h"
#include <algorithm>
#include <utility>

namespace smtp_client {

GenericMaps::GenericMaps(common::Loop& loop, common::Log& log) : tables_(loop, log) {}

void GenericMaps::configure(Settings settings) {
    any_ = !settings.tables.empty() || std::ranges::any_of(settings.routes, [](const decide::RouteRule& rule) {
        return rule.generic_tables && !rule.generic_tables->empty();
    });
    general_ = std::move(settings.tables);
    routes_ = decide::RouteTable(std::move(settings.routes));
    rewriting_ = std::move(settings.rewriting);
    tables_.configure(settings.sections, std::move(settings.maps_socket));
}

const std::vector<std::string>& GenericMaps::tables_for(std::string_view recipient, std::string_view route) const {
    if (const auto* rule = route.empty() ? nullptr : routes_.named(route); rule && rule->generic_tables)
        return *rule->generic_tables;
    const auto* rule = routes_.find(idn::ascii_domain(recipient.substr(recipient.rfind('@') + 1)));
    return rule && rule->generic_tables ? *rule->generic_tables : general_;
}

const std::vector<std::string>& GenericMaps::tables_for_all(const std::vector<std::string>& recipients,
                                                            std::string_view route) const {
    static const std::vector<std::string> none;
    const auto* out = &none;
    for (const auto& recipient : recipients) {
        const auto& tables = tables_for(recipient, route);
        if (tables.empty()) continue;
        if (&tables == &general_) return general_;
        if (out->empty()) out = &tables;
    }
    return *out;
}

} // namespace smtp_client

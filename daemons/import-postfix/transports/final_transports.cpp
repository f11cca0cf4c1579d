#include "daemons/import-postfix/transports/final_transports.h"
#include "daemons/common/config/schema/value_types.h"
#include "daemons/decide/addressing/command_words.h"
#include "daemons/import-postfix/import/import.h"
#include "daemons/import-postfix/import/tables.h"
#include "daemons/import-postfix/postfix/lists.h"
#include "daemons/import-postfix/transports/next_hops.h"
#include <algorithm>
#include <fmt/format.h>

namespace postrider {

namespace {

// In Postfix's order: a domain belongs to the first class that has it. Domains of virtual aliases have no transport.
struct ClassOfDomains {
    std::string_view transport, domains, tables;
};
constexpr ClassOfDomains classes_with_transports[] = {
    {"local_transport", "mydestination", "local.domain_tables"},
    {"virtual_transport", "virtual_mailbox_domains", "virtual_mailbox.domain_tables"},
    {"relay_transport", "relay_domains", "relay.domain_tables"},
};

bool has_names_only(Import& import, const ClassOfDomains& of) { return !import.draft.find(of.tables); }

// "error:no mail here" as a transport table has it, "command:NAME"; ":": as usual.
std::string final_entry(Import& import, std::string_view setting) {
    const auto value = import.value(setting);
    if (!is_in_final_transports(import, setting)) return ":";
    if (const auto program = program_of_transport(import, value); !program.empty())
        return decide::command_target(program);
    return value.contains(':') ? value : value + ":";
}

} // namespace

bool is_in_final_transports(Import& import, std::string_view setting) {
    const auto value = import.value(setting);
    if (!keeps_mail_from_leaving(value) && program_of_transport(import, value).empty()) return false;
    if (setting == "default_transport") // what is left when all others are named
        return import.value("sender_dependent_default_transport_maps").empty() &&
               std::ranges::all_of(classes_with_transports,
                                   [&](const auto& each) { return has_names_only(import, each); });
    const auto of = std::ranges::find(classes_with_transports, setting, &ClassOfDomains::transport);
    return setting != "virtual_transport" && of != std::end(classes_with_transports) && has_names_only(import, *of);
}

std::optional<std::string> table_of_final_transports(Import& import) {
    const bool everything = is_in_final_transports(import, "default_transport");
    const bool below = import.value("parent_domain_matches_subdomains").contains("relay_domains");
    std::vector<std::string> entries;
    std::set<std::string> named;
    for (const auto& each : classes_with_transports) {
        const auto result = final_entry(import, each.transport);
        if (!everything && result == ":" && each.transport != "local_transport") continue;
        for (const auto& word : expanded_list(import, each.domains)) {
            const auto name = config::domain_name(word);
            if (name.empty()) continue;
            std::vector<std::string> keys = {name};
            if (below && each.transport == "relay_transport") keys.push_back("." + name);
            for (const auto& key : keys)
                if (named.insert(key).second && (everything || result != ":"))
                    entries.push_back(fmt::format("{} {}", key, result));
        }
    }
    if (everything) entries.push_back(fmt::format("* {}", final_entry(import, "default_transport")));
    if (entries.empty()) return {};
    const auto section = import.new_table_name("transports");
    import.draft.set(fmt::format("table.{}.kind", section), toml("entries"), "default_transport and the like");
    import.draft.set(fmt::format("table.{}.entries", section), toml(entries));
    return "table:" + section;
}

} // namespace postrider

// smtp_tls_policy_maps: levels of TLS by next hop or domain become those of routes. A demand that no route can have is
// to be decided by the operator.
#include "daemons/common/config/schema/key.h"
#include "daemons/common/config/schema/value_types.h"
#include "daemons/import-postfix/conversion/steps.h"
#include "daemons/import-postfix/import/import.h"
#include "daemons/import-postfix/import/tables.h"
#include "daemons/import-postfix/postfix/lists.h"
#include "daemons/import-postfix/transports/next_hops.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace postrider {

namespace {

constexpr std::string_view policy_maps = "smtp_tls_policy_maps";

// Where transport_maps sends mail by SMTP, whatever relayhost says.
class Transports {
public:
    explicit Transports(Import& import) {
        for (const auto& word : tables_of(import, "transport_maps")) {
            const auto type = postfix::parse_typed(word);
            const bool text = type && type->type != "regexp" && type->type != "pcre" && type->type != "cidr" &&
                              (type->type == "inline" || import.environment.exists(import.resolved_path(type->name)));
            const auto entries = text ? table_entries(import, "transport_maps", word) : std::nullopt;
            complete_ = complete_ && entries;
            for (const auto& entry : entries ? *entries : std::vector<postfix::Entry>{}) {
                const auto colon = entry.value.find(':');
                const auto name = entry.value.substr(0, colon);
                const auto hop = colon == entry.value.npos ? "" : entry.value.substr(colon + 1);
                const bool by_smtp = name == "smtp" || name == "relay" || (name.empty() && !hop.empty());
                all_.push_back({entry.key, by_smtp ? hops_of(hop) : std::vector<std::string>{}});
            }
        }
    }

    // False: tables that are not read here may have more.
    bool complete() const { return complete_; }

    // Of mail for a domain, ".domain": for all below it. Empty: it goes where all mail goes.
    std::vector<std::string> next_hops_of(std::string_view domain) const {
        for (auto name = domain;;) {
            if (const auto found = std::ranges::find(all_, name, &Entry::key); found != all_.end()) return found->hops;
            const auto dot = name.find('.', 1);
            if (dot == name.npos) break;
            name.remove_prefix(dot);
        }
        const auto rest = std::ranges::find(all_, "*", &Entry::key);
        return rest == all_.end() ? std::vector<std::string>{} : rest->hops;
    }

    struct Entry {
        std::string key;
        std::vector<std::string> hops; // in order; empty: they are not by SMTP
        bool is_domain() const { return key != "*" && key.find('@') == key.npos; }
    };
    // Those by which mail goes to that next hop, perhaps as one of several.
    std::vector<Entry> by(std::string_view hop) const {
        std::vector<Entry> out;
        for (const auto& each : all_)
            if (std::ranges::find(each.hops, hop) != each.hops.end()) out.push_back(each);
        return out;
    }

private:
    // With a name in a list, or something else that is no next hop, mail waits.
    static std::vector<std::string> hops_of(std::string_view text) {
        std::vector<std::string> out;
        const auto words = postfix::words_of(text);
        for (const auto& word : words) {
            const auto hop = next_hop(word);
            if (!hop || (words.size() > 1 && !hop->starts_with('['))) return {};
            out.push_back(*hop);
        }
        if (out.empty()) out.emplace_back("mx");
        return out;
    }

    std::vector<Entry> all_;
    bool complete_ = true;
};

// As a route has them.
std::string toml_of(const std::vector<std::string>& hops) { return hops.size() == 1 ? toml(hops[0]) : toml(hops); }

// 2 includes 1, but not another 2.
int strictness(std::string_view level) {
    return level == "dane-only" || level == "verify" ? 2 : level == "encrypt" ? 1 : 0;
}

bool is_demand(std::string_view level) {
    return level == "encrypt" || level == "verify" || level == "secure" || level == "fingerprint" ||
           level == "dane-only";
}

// What is demanded beside the level.
bool is_demand_of_its_own(std::string_view attribute) {
    const auto value = attribute.substr(std::min(attribute.find('=') + 1, attribute.size()));
    if (attribute.starts_with("ciphers=")) return value != "medium" && value != "high";
    if (attribute.starts_with("protocols="))
        return value.find("1.3") != value.npos || value.find("!TLSv1.2") != value.npos;
    return attribute.starts_with("match=") || attribute.starts_with("tafile=") || attribute.starts_with("exclude=");
}

class Policies {
public:
    explicit Policies(Import& import) : import_(import), transports_(import) {
        const auto* star = import_.draft.find("route.\"*\".next_hop");
        if (star && star->value != toml("mx")) relay_ = star->value;
    }

    void add(const postfix::Entry& entry) {
        const auto words = postfix::words_of(entry.value);
        auto level = words.front();
        const auto hop = next_hop(entry.key);
        attributes(entry, words);
        if (level == "secure" && !entry.key.starts_with('['))
            import_.mark_unguarded(policy_maps, entry.key,
                                   "the certificate had to match the domain; \"verify\" compares it with the host name "
                                   "that the DNS gives: use \"dane-only\", or a next_hop in brackets");
        if (level == "fingerprint") import_.mark_unguarded(policy_maps, entry.key, "certificates are not pinned");
        if (level == "secure" || level == "fingerprint") {
            import_.add_remark(policy_maps, fmt::format("{}: {} is treated as verify", entry.key, level));
            level = "verify";
        }
        const bool by_hop = hop && for_next_hop(entry.key, *hop, level);
        if (entry.key.starts_with('[') || entry.key.find(':') != entry.key.npos) {
            if (!by_hop) lost(entry.key, level, "set it as tls of the [route] with that next hop");
        } else if (!hop || toml(*hop) != relay_) {
            for_domain(entry.key, level, by_hop);
        }
    }

private:
    void attributes(const postfix::Entry& entry, const std::vector<std::string>& words) {
        for (std::size_t i = 1; i < words.size(); ++i)
            if (is_demand(words.front()) && is_demand_of_its_own(words[i]))
                import_.mark_unguarded(policy_maps, entry.key,
                                       fmt::format("\"{}\" has no counterpart", postfix::excerpt(words[i])));
            else
                import_.add_remark(policy_maps, fmt::format("{}: \"{}\" and similar values have no counterpart",
                                                            entry.key, postfix::excerpt(words[i])));
    }

    // Of the mail that goes there, perhaps as one of several: all, that of relay_transport, that of entries in
    // transport_maps.
    bool for_next_hop(const std::string& key, const std::string& hop, const std::string& level) {
        std::set<std::string> routes;
        bool others = false;
        for (const auto& entry : transports_.by(hop)) {
            others = others || !entry.is_domain();
            if (!entry.is_domain()) continue;
            const auto route = fmt::format("route.{}", toml(entry.key));
            import_.set(route + ".next_hop", toml_of(entry.hops), "transport_maps");
            routes.insert(route);
        }
        for (const auto& route : import_.draft.sections("route."))
            if (const auto* now = import_.draft.find(route + ".next_hop");
                now && (now->value == toml(hop) || (now->value.starts_with('[') && now->value.contains(toml(hop)))))
                routes.insert(route);
        for (const auto& route : routes)
            if (import_.draft.find(route + ".next_hop")->value == toml(hop))
                import_.set(route + ".tls", toml(level), policy_maps);
            else
                for_one_of_several(key, route, level);
        if (others && !routes.empty())
            lost(key, level, "not for mail that gets there by an entry of transport_maps for an address, or for \"*\"");
        return !routes.empty();
    }

    // TLS is the route's, for all of its hosts.
    void for_one_of_several(const std::string& key, const std::string& route, const std::string& level) {
        const auto* now = import_.draft.find(route + ".tls");
        const auto is = now ? now->value : std::string();
        const auto text = std::string_view(is).substr(is.empty() ? 0 : 1, is.empty() ? 0 : is.size() - 2);
        if (!is_demand(level))
            import_.add_remark(policy_maps,
                               fmt::format("{}: {}: one of several next hops of [{}]; omitted", key, level, route));
        else if (!now || strictness(text) < strictness(level))
            import_.set(route + ".tls", toml(level), policy_maps);
        else if (strictness(text) == strictness(level) && text != level)
            lost(key, level, fmt::format("[{}], which has several next hops, has tls = {}", route, is));
    }

    void for_domain(const std::string& key, const std::string& level, bool by_hop) {
        const bool below = key.starts_with('.');
        const auto domain = config::domain_name(std::string_view(key).substr(below ? 1 : 0));
        if (domain.empty()) return;
        const auto pattern = fmt::format("{}{}", below ? "." : "", domain),
                   route = fmt::format("route.{}", toml(pattern));
        auto hops = transports_.next_hops_of(pattern);
        if (hops.empty() && relay_.empty()) hops.emplace_back("mx");
        if (hops.empty() && !by_hop) {
            if (!transports_.complete())
                return lost(key, level,
                            "whether its mail goes to relayhost depends on transport_maps: if not, set tls in "
                            "a [route] for it");
            return import_.add_remark(
                policy_maps, fmt::format("{}: Postfix uses it only if mail does not go to relayhost; omitted", key));
        }
        if (hops.empty()) return;
        if (hops.front() != "mx" && (hops.size() > 1 || import_.draft.find(route + ".tls")))
            return import_.add_remark(
                policy_maps,
                fmt::format("{}: Postfix asks for {} instead, to which mail for it goes; omitted", key, hops.front()));
        if (!import_.draft.find(route + ".next_hop"))
            import_.draft.set(route + ".next_hop", toml_of(hops), policy_maps);
        import_.set(route + ".tls", toml(level), policy_maps);
    }

    void lost(const std::string& key, std::string_view level, std::string_view advice) {
        const auto remark = fmt::format("{}: {}", level, advice);
        if (is_demand(level))
            import_.mark_unguarded(policy_maps, key, remark);
        else
            import_.mark_unsupported(policy_maps, fmt::format("{}: {}", key, remark), IfLost::harmless);
    }

    Import& import_;
    Transports transports_;
    std::string relay_; // next_hop of all mail, as TOML; "" none
};

// What asks for MTA-STS in Postfix is a service behind a socketmap.
void from_service(Import& import, const std::string& word) {
    const auto* level = import.draft.find("smtp_client.tls");
    const bool welcome = !level || level->value == toml("may") || level->value == toml("dane");
    if (!welcome)
        return import.mark_unguarded(policy_maps, word,
                                     "not queried. If it is for MTA-STS, smtp_client.tls = \"sts\" replaces it, which "
                                     "sends in plain text if a domain has no policy");
    import.draft.set("smtp_client.tls", toml("sts"), policy_maps);
    import.add_remark(
        policy_maps,
        fmt::format("{}: smtp_client.tls = \"sts\" follows MTA-STS and DANE without such a service", word));
}

} // namespace

void import_tls_policies(Import& import) {
    import.mark_converted(policy_maps);
    Policies policies(import);
    for (const auto& word : import.words(policy_maps)) {
        const auto type = postfix::parse_typed(word);
        if (type && (type->type == "socketmap" || type->type == "tcp")) {
            from_service(import, word);
            continue;
        }
        const auto entries = table_entries(import, policy_maps, word);
        if (!entries ||
            (type && type->type != "inline" && !import.environment.exists(import.resolved_path(type->name)))) {
            // The table asks for TLS, or for better TLS: it must not get lost.
            import.draft.set(fmt::format("route.{}.tls", toml(word)), toml("verify"), policy_maps);
            import.mark_unsupported(
                policy_maps,
                fmt::format("{} was written as the name of a [route], which postrider check rejects "
                            "until there is a [route] for each of its entries",
                            word),
                IfLost::harmless);
            continue;
        }
        for (const auto& entry : *entries) policies.add(entry);
    }
}

} // namespace postrider

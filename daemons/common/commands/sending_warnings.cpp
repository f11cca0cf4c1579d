#include "daemons/common/commands/sending_warnings.h"
#include "daemons/common/config/config.h"
#include "daemons/common/config/sections/delivery/dns.h"
#include <algorithm>
#include <fmt/format.h>

namespace common {

namespace {

using decide::NextHop;
using decide::TlsLevel;

struct Said { // a level, and which key says so
    TlsLevel level;
    std::string key;
};

std::vector<Said> levels(const config::Config& config) {
    std::vector<Said> out = {{config.smtp_client.tls, "smtp_client.tls"}};
    for (const auto& route : config.routes)
        if (route.tls != TlsLevel::by_default)
            out.push_back({route.tls, fmt::format("route.\"{}\".tls", route.pattern)});
    return out;
}

// The name server is asked for by /etc/resolv.conf where none is configured: nothing is known of that here.
bool nobody_validates(const config::Dns& dns) {
    return !dns.trust_ad || (!dns.servers.empty() && std::ranges::none_of(dns.servers, [](const auto& server) {
        return server.address.is_loopback();
    }));
}

std::string about_tls(const config::Config& config, const Said& said) {
    if (said.level == TlsLevel::verify && config.smtp_client.tls_authorities.empty())
        return fmt::format(
            "{} is \"verify\", but smtp_client.tls_ca_file names no file: no certificate can be verified, "
            "and the mail waits",
            said.key);
    const bool only = said.level == TlsLevel::dane_only;
    if ((only || said.level == TlsLevel::dane) && nobody_validates(config.dns))
        return fmt::format("{} requests DANE, but {}: TLSA records are not trusted{}", said.key,
                           config.dns.trust_ad ? "dns.servers lists no server on this host" : "dns.trust_ad is off",
                           only ? ", and the mail waits" : "");
    return {};
}

const auth::Account* account_at(const NextHop& hop, const auth::Credentials& accounts) {
    return hop.kind == NextHop::Kind::host ? accounts.find(hop.name, hop.port, hop.account) : nullptr;
}

std::vector<NextHop> hops_of(const decide::RouteRule& route) {
    std::vector<NextHop> out = route.fallback;
    for (const auto& equals : route.next_hops) out.insert(out.end(), equals.begin(), equals.end());
    return out;
}

} // namespace

std::vector<std::string> sending_warnings(const config::Config& config, const auth::Credentials& accounts) {
    std::vector<std::string> out;
    for (const auto& said : levels(config))
        if (auto text = about_tls(config, said); !text.empty()) out.push_back(std::move(text));

    std::vector<NextHop> hops;
    for (const auto& route : config.routes) {
        const auto its = hops_of(route);
        hops.insert(hops.end(), its.begin(), its.end());
        for (const auto& hop : its)
            if (!hop.account.empty() && !route.auth.never && !account_at(hop, accounts))
                out.push_back(fmt::format("route.\"{}\": smtp_client.credentials has no account for {} at {}: mail for "
                                          "it waits",
                                          route.pattern, hop.account, hop.to_string().substr(hop.account.size() + 1)));
        const bool named = std::ranges::all_of(its, [](const auto& hop) { return hop.kind == NextHop::Kind::host; });
        const bool known = std::ranges::any_of(its, [&](const auto& hop) { return account_at(hop, accounts); });
        if (named && !known && !route.auth.never && !route.auth.mechanisms.empty())
            out.push_back(fmt::format("route.\"{}\".auth lists mechanisms, but smtp_client.credentials has no account "
                                      "at its next hop: mail is sent there without AUTH",
                                      route.pattern));
    }
    // Where the DNS or a table names the hosts, any account may be meant.
    if (!config.addresses.sender_relay.tables.empty() || !config.addresses.transport.tables.empty()) return out;
    if (std::ranges::any_of(hops, [](const auto& hop) { return hop.kind != NextHop::Kind::host; })) return out;
    for (const auto& account : accounts.accounts)
        if (std::ranges::none_of(hops, [&](const auto& hop) { return account_at(hop, accounts) == &account; }))
            out.push_back(
                fmt::format("smtp_client.credentials: the account {} matches no next hop of a [route]: it is used only "
                            "if an MX record names that host; check that host and port are written as in next_hop",
                            account.name()));
    return out;
}

} // namespace common

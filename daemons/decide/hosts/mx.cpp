#include "daemons/decide/hosts/mx.h"
#include <algorithm>
#include <fmt/format.h>
#include <tuple>

namespace decide {

namespace {

constexpr std::size_t longest_link_name = 200;

// An MX record must name a host; some name an address. Those are ignored (RFC 5321, 5.1).
bool is_literal(std::string_view host) {
    const auto digits_and_dots = [](char c) { return (c >= '0' && c <= '9') || c == '.'; };
    return std::all_of(host.begin(), host.end(), digits_and_dots) || host.find(':') != host.npos;
}

// FNV-1a, 64 bits: distinguishes long names, nothing else depends on it.
std::uint64_t hash_of(std::string_view text) {
    std::uint64_t hash = 14695981039346656037ULL;
    for (const unsigned char c : text) hash = (hash ^ c) * 1099511628211ULL;
    return hash;
}

std::string not_found(std::string_view domain, std::string_view type, std::string_view what) {
    return fmt::format("Host or domain name not found. Name service error for name={} type={}: {}", domain, type, what);
}

Destination later(std::string_view domain, std::string_view type, std::string_view why) {
    auto text = not_found(domain, type, "Host not found, try again");
    if (!why.empty()) text += fmt::format(" ({})", why);
    return Destination::refuse(RouteKind::temporary, "4.4.3", std::move(text));
}

Destination loops(std::string_view domain) {
    return Destination::refuse(RouteKind::permanent, "5.4.6", fmt::format("mail for {} loops back to myself", domain));
}

} // namespace

Destination Destination::refuse(RouteKind kind, std::string_view status, std::string text) {
    Destination out;
    out.kind = kind;
    out.status = status;
    out.text = std::move(text);
    return out;
}

Destination Destination::of(RouteKind kind, std::vector<Host> hosts) {
    Destination out;
    out.kind = kind;
    std::sort(hosts.begin(), hosts.end(), [](const Host& a, const Host& b) {
        return std::tie(a.tier, a.preference, a.name, a.port) < std::tie(b.tier, b.preference, b.name, b.port);
    });
    out.link = link_name(kind, hosts);
    out.hosts = std::move(hosts);
    return out;
}

MxDecision decide_mx(std::string_view domain, LookupStatus said, std::vector<MxRecord> records, std::string_view why,
                     std::uint16_t port, const IsSelf& is_self) {
    if (said == LookupStatus::failed) return {false, later(domain, "MX", why)};
    if (said == LookupStatus::no_name)
        return {false, Destination::refuse(RouteKind::permanent, "5.1.2", not_found(domain, "MX", "Host not found"))};
    if (said == LookupStatus::no_data) return {true, {}};

    if (records.size() == 1 && records.front().host.empty())
        return {false, Destination::refuse(RouteKind::permanent, "5.1.10",
                                           fmt::format("Domain {} does not accept mail (nullMX)", domain))};
    std::erase_if(records, [](const MxRecord& record) { return record.host.empty() || is_literal(record.host); });
    if (records.empty())
        return {false, Destination::refuse(RouteKind::permanent, "5.4.4",
                                           fmt::format("Domain {} has MX records, but none names a host", domain))};

    // If we are among them, we may only relay to better ones, or mail would loop.
    std::sort(records.begin(), records.end(), [](const MxRecord& a, const MxRecord& b) {
        return std::tie(a.preference, a.host) < std::tie(b.preference, b.host);
    });
    const auto self = std::find_if(records.begin(), records.end(), [&](const MxRecord& r) { return is_self(r.host); });
    const bool ours = self != records.end();
    if (ours) std::erase_if(records, [limit = self->preference](const MxRecord& r) { return r.preference >= limit; });
    if (records.empty()) return {false, loops(domain)};

    std::vector<Host> hosts;
    for (auto& record : records) {
        const auto same = [&](const Host& host) { return host.name == record.host; };
        if (std::none_of(hosts.begin(), hosts.end(), same))
            hosts.push_back({std::move(record.host), port, record.preference});
    }
    MxDecision found{false, Destination::of(RouteKind::mx, std::move(hosts))};
    found.destination.includes_self = ours;
    return found;
}

Destination decide_address_only(std::string_view domain, LookupStatus a, LookupStatus aaaa, std::string_view why,
                                std::uint16_t port, const IsSelf& is_self) {
    if (a == LookupStatus::records || aaaa == LookupStatus::records) {
        if (is_self(std::string(domain))) return loops(domain);
        return Destination::of(RouteKind::mx, {{std::string(domain), port, 0}});
    }
    if (a == LookupStatus::failed || aaaa == LookupStatus::failed) return later(domain, "A", why);
    if (a == LookupStatus::no_name || aaaa == LookupStatus::no_name)
        return Destination::refuse(RouteKind::permanent, "5.1.2", not_found(domain, "A", "Host not found"));
    return Destination::refuse(RouteKind::permanent, "5.4.4",
                               not_found(domain, "A", "Host found but no data record of requested type"));
}

std::string link_name(RouteKind kind, const std::vector<Host>& hosts) {
    std::vector<std::pair<std::pair<Tier, std::uint16_t>, std::string>> names;
    for (const Host& host : hosts) {
        const bool path = host.name.starts_with('/');
        const bool named = (kind == RouteKind::configured || host.tier == Tier::fallback) && !path;
        auto name = named ? "[" + host.name + "]" : host.name;
        if (host.protocol == smtp::Protocol::lmtp) name.insert(0, "lmtp:");
        if (!path && host.port != smtp::default_port(host.protocol)) name += fmt::format(":{}", host.port);
        if (!host.account.empty()) name.insert(0, host.account + "@");
        if (host.tls_wrap) name += "/tls";
        names.emplace_back(std::pair(host.tier, host.preference), std::move(name));
    }
    std::sort(names.begin(), names.end());
    std::string out;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (i > 0) out += names[i].first == names[i - 1].first ? ',' : ';';
        out += names[i].second;
    }
    if (out.size() <= longest_link_name) return out;
    const auto mark = fmt::format("...#{:016x}", hash_of(out));
    return out.substr(0, longest_link_name - mark.size()) + mark;
}

std::string link_from(std::string_view link, std::string_view pool) {
    std::string out(link);
    if (!pool.empty()) (out += '@') += pool;
    return out;
}

// "ann@[smtp.example.net]": this "@" belongs to an account. Pool names never look like that.
std::string_view link_to(std::string_view link) {
    const auto at = link.rfind('@');
    return at != link.npos && link.substr(at + 1).starts_with('[') ? link : link.substr(0, at);
}

std::string_view pool_of_link(std::string_view link) {
    const auto to = link_to(link);
    return to.size() == link.size() ? std::string_view() : link.substr(to.size() + 1);
}

} // namespace decide

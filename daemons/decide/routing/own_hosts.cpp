#include "daemons/decide/routing/own_hosts.h"
#include "daemons/decide/routing/routing.h"
#include <utility>

namespace decide {

namespace {
constexpr std::string_view word = "mx", before = "mx:";
} // namespace

std::optional<OwnHosts> OwnHosts::of(std::string_view next_hop, std::string domain) {
    if (next_hop != word && !next_hop.starts_with(before)) return {};
    const auto hop = NextHop::parse(next_hop);
    if (!hop || hop->kind != NextHop::Kind::recipient) return {};
    return OwnHosts{std::move(domain), hop->port};
}

std::optional<OwnHosts> OwnHosts::parse(std::string_view text) {
    if (!text.starts_with(before)) return {};
    text.remove_prefix(before.size());
    const auto digits = text.find_first_not_of("0123456789");
    if (digits == text.npos) return {}; // a next hop without a domain
    if (digits == 0 || text[digits] != ':') return OwnHosts{std::string(text)};
    auto out = of(std::string(before) + std::string(text.substr(0, digits)), std::string(text.substr(digits + 1)));
    return out && !out->domain.empty() ? out : std::nullopt;
}

std::string OwnHosts::to_string() const {
    const auto suffix = port == NextHop{}.port ? std::string() : std::to_string(port) + ":";
    return std::string(before) + suffix + domain;
}

} // namespace decide

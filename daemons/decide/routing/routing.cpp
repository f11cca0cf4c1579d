#include "daemons/decide/routing/routing.h"
#include <algorithm>
#include <charconv>
#include <utility>

namespace decide {

namespace {

bool is_v4(std::string_view text) {
    int parts = 0;
    while (true) {
        unsigned value = 0;
        auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        const auto length = static_cast<std::size_t>(end - text.data());
        if (error != std::errc{} || length > 3 || value > 255) return false;
        text.remove_prefix(length);
        if (++parts == 4) return text.empty();
        if (!text.starts_with('.')) return false;
        text.remove_prefix(1);
    }
}

// Lower case; "" if it cannot be a host name.
std::string host_name(std::string_view text) {
    std::string out;
    std::size_t label = 0;
    if (text.size() > 253) return "";
    for (const char c : text) {
        const char l = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
        const bool plain = (l >= 'a' && l <= 'z') || (l >= '0' && l <= '9') || l == '_';
        if (!plain && !((l == '-' || l == '.') && label > 0)) return "";
        label = l == '.' ? 0 : label + 1;
        if (label > 63) return "";
        out.push_back(l);
    }
    return label == 0 ? "" : out;
}

// An IPv6 address as far as its characters go: it is parsed when connecting.
std::string v6_literal(std::string_view text) {
    std::string out;
    if (text.size() < 2 || text.size() > 45 || text.find(':') == text.npos) return "";
    for (const char c : text) {
        const char l = c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c;
        if (!((l >= '0' && l <= '9') || (l >= 'a' && l <= 'f') || l == ':' || l == '.')) return "";
        out.push_back(l);
    }
    return out;
}

// For a socket, as the kernel and a log line can take it.
bool is_path(std::string_view text) {
    return text.size() > 1 && text.size() <= NextHop::longest_path &&
           std::ranges::all_of(text, [](unsigned char c) { return c > 0x20 && c < 0x7f; });
}

// For a user, as links, logs and patterns can take it.
bool is_account(std::string_view text) {
    return !text.empty() && text.size() <= NextHop::longest_account && std::ranges::all_of(text, [](unsigned char c) {
        return c > 0x20 && c < 0x7f &&
               std::string_view("[]:,;\"\\*?").find(static_cast<char>(c)) == std::string_view::npos;
    });
}

} // namespace

std::optional<NextHop> NextHop::parse(std::string_view text) {
    constexpr std::string_view lmtp = "lmtp:";
    NextHop hop;
    std::string_view port;
    if (text.starts_with(lmtp)) {
        text.remove_prefix(lmtp.size());
        hop.protocol = smtp::Protocol::lmtp;
        hop.port = smtp::default_port(hop.protocol);
        if (text.starts_with('/')) {
            if (!is_path(text)) return {};
            hop.kind = Kind::host;
            hop.name = text;
            hop.port = 0;
            return hop;
        }
        if (!text.starts_with('[')) return {};
    } else if (const auto at = text.rfind("@["); at != text.npos) {
        if (!is_account(text.substr(0, at))) return {};
        hop.account = text.substr(0, at);
        text.remove_prefix(at + 1);
    }
    if (text.starts_with('[')) {
        const auto close = text.find(']');
        if (close == text.npos) return {};
        const auto name = text.substr(1, close - 1);
        hop.kind = Kind::host;
        hop.name = name.find(':') == name.npos ? host_name(name) : v6_literal(name);
        if (hop.name.find_first_not_of("0123456789.") == hop.name.npos && !is_v4(hop.name))
            return {}; // an address, misspelt
        port = text.substr(close + 1);
    } else {
        const auto colon = text.find(':');
        const auto name = text.substr(0, colon);
        if (name == "srv" && colon != text.npos && text.find_first_not_of("0123456789", colon + 1) != text.npos) {
            hop.kind = Kind::srv;
            hop.name = host_name(text.substr(colon + 1));
            if (hop.name.empty() || is_v4(hop.name)) return {};
            return hop;
        }
        if (name != "mx") {
            hop.kind = Kind::mx_of;
            hop.name = host_name(name);
        }
        if (is_v4(hop.name)) return {};
        if (colon != text.npos) port = text.substr(colon);
    }
    if (hop.name.empty() && hop.kind != Kind::recipient) return {};
    if (port.empty()) return hop;
    auto [end, error] = std::from_chars(port.data() + 1, port.data() + port.size(), hop.port);
    if (port.front() != ':' || error != std::errc{} || end != port.data() + port.size() || hop.port == 0) return {};
    return hop;
}

std::string NextHop::to_string() const {
    const bool lmtp = protocol == smtp::Protocol::lmtp;
    if (port == 0) return "lmtp:" + name;
    const auto suffix = port == smtp::default_port(protocol) ? std::string() : ":" + std::to_string(port);
    if (lmtp) return "lmtp:[" + name + "]" + suffix;
    switch (kind) {
    case Kind::recipient: return "mx" + suffix;
    case Kind::mx_of: return name + suffix;
    case Kind::host: return (account.empty() ? "" : account + "@") + "[" + name + "]" + suffix;
    case Kind::srv: return "srv:" + name;
    }
    return "";
}

RouteTable::RouteTable(std::vector<RouteRule> rules) : rules_(std::move(rules)) {
    for (std::size_t i = 0; i < rules_.size(); ++i) by_pattern_.emplace(rules_[i].pattern, i);
}

const RouteRule* RouteTable::named(std::string_view pattern) const {
    const auto found = by_pattern_.find(std::string(pattern));
    return found == by_pattern_.end() ? nullptr : &rules_[found->second];
}

const RouteRule* RouteTable::find(std::string_view domain) const {
    if (rules_.empty()) return nullptr;
    if (const auto* rule = named(domain)) return rule;
    for (auto dot = domain.find('.'); dot != domain.npos; dot = domain.find('.', dot + 1))
        if (const auto* rule = named(domain.substr(dot))) return rule;
    return named("*");
}

TlsLevel RouteTable::tls_level(std::string_view domain, TlsLevel otherwise) const {
    const auto* rule = find(domain);
    return rule && rule->tls != TlsLevel::by_default ? rule->tls : otherwise;
}

TlsLevel RouteTable::tls_level_of(std::string_view pattern, TlsLevel otherwise) const {
    const auto* rule = pattern.empty() ? nullptr : named(pattern);
    return rule && rule->tls != TlsLevel::by_default ? rule->tls : otherwise;
}

} // namespace decide

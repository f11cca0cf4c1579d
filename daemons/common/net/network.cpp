#include "daemons/common/net/network.h"
#include <algorithm>
#include <arpa/inet.h>
#include <charconv>
#include <cstring>
#include <netinet/in.h>
#include <sys/socket.h>

namespace common {

namespace {

constexpr std::uint8_t v4_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

template <class Number> std::optional<Number> whole_number(std::string_view text, Number limit) {
    Number n{};
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc{} || end != text.data() + text.size() || n > limit || text.front() == '-') return {};
    return n;
}

} // namespace

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
    char copy[INET6_ADDRSTRLEN];
    if (text.empty() || text.size() >= sizeof copy) return {};
    std::memcpy(copy, text.data(), text.size());
    copy[text.size()] = '\0';
    if (std::strlen(copy) != text.size()) return {};
    IpAddress out;
    if (inet_pton(AF_INET6, copy, out.bytes.data()) == 1) return out;
    std::memcpy(out.bytes.data(), v4_prefix, sizeof v4_prefix);
    if (inet_pton(AF_INET, copy, out.bytes.data() + 12) == 1) return out;
    return {};
}

std::optional<IpAddress> IpAddress::of(const sockaddr* address) {
    IpAddress out;
    if (address->sa_family == AF_INET6) {
        std::memcpy(out.bytes.data(), &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, 16);
        return out;
    }
    if (address->sa_family != AF_INET) return {};
    std::memcpy(out.bytes.data(), v4_prefix, sizeof v4_prefix);
    std::memcpy(out.bytes.data() + 12, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, 4);
    return out;
}

bool IpAddress::is_v4() const { return std::memcmp(bytes.data(), v4_prefix, sizeof v4_prefix) == 0; }

bool IpAddress::is_wildcard() const {
    return *this == IpAddress{} ||
           (is_v4() && std::all_of(bytes.begin() + 12, bytes.end(), [](auto byte) { return byte == 0; }));
}

bool IpAddress::is_loopback() const {
    if (is_v4()) return bytes[12] == 127;
    return std::all_of(bytes.begin(), bytes.end() - 1, [](auto b) { return b == 0; }) && bytes[15] == 1;
}

std::string IpAddress::to_string() const {
    char text[INET6_ADDRSTRLEN];
    if (is_v4())
        inet_ntop(AF_INET, bytes.data() + 12, text, sizeof text);
    else
        inet_ntop(AF_INET6, bytes.data(), text, sizeof text);
    return text;
}

std::optional<Network> Network::parse(std::string_view text) {
    const auto slash = text.find('/');
    auto host = text.substr(0, slash);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
        host = host.substr(1, host.size() - 2);
        if (host.find(':') == host.npos) return {};
    }
    const auto base = IpAddress::parse(host);
    if (!base) return {};
    Network out{*base, 128};
    if (slash != text.npos) {
        const bool short_form = base->is_v4() && host.find(':') == host.npos;
        if (slash + 1 == text.size()) return {};
        const auto bits = whole_number<int>(text.substr(slash + 1), short_form ? 32 : 128);
        if (!bits) return {};
        out.bits = *bits + (short_form ? 96 : 0);
    }
    for (int bit = out.bits; bit < 128; ++bit)
        if (base->bytes[bit / 8] & (0x80 >> bit % 8)) return {};
    return out;
}

bool Network::contains(const IpAddress& address) const {
    const int whole = bits / 8;
    if (std::memcmp(base.bytes.data(), address.bytes.data(), whole) != 0) return false;
    if (bits % 8 == 0) return true;
    const auto mask = static_cast<std::uint8_t>(0xff << (8 - bits % 8));
    return ((base.bytes[whole] ^ address.bytes[whole]) & mask) == 0;
}

std::string Network::to_string() const {
    const bool v4 = base.is_v4() && bits >= 96;
    return base.to_string() + "/" + std::to_string(v4 ? bits - 96 : bits);
}

bool contains(const std::vector<Network>& networks, const IpAddress& address) {
    return std::any_of(networks.begin(), networks.end(), [&](const Network& n) { return n.contains(address); });
}

std::optional<Endpoint> Endpoint::parse(std::string_view text, std::uint16_t default_port) {
    std::string_view host = text, port;
    if (text.starts_with('[')) {
        const auto close = text.find(']');
        if (close == text.npos) return {};
        host = text.substr(1, close - 1);
        port = text.substr(close + 1);
        if (!port.empty() && port.front() != ':') return {};
    } else if (const auto colon = text.find(':'); colon != text.npos && colon == text.rfind(':')) {
        host = text.substr(0, colon);
        port = text.substr(colon);
    }
    const auto address = IpAddress::parse(host);
    if (!address) return {};
    if (port.empty()) {
        if (default_port == 0) return {};
        return Endpoint{*address, default_port};
    }
    if (port.size() < 2) return {};
    const auto number = whole_number<std::uint32_t>(port.substr(1), 65535);
    if (!number || *number == 0) return {};
    return Endpoint{*address, static_cast<std::uint16_t>(*number)};
}

std::string Endpoint::to_string() const {
    if (!path.empty()) return path;
    if (address.is_v4()) return address.to_string() + ":" + std::to_string(port);
    return "[" + address.to_string() + "]:" + std::to_string(port);
}

} // namespace common

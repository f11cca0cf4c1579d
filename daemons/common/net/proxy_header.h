// The header a load balancer sends before its client's bytes, so that the server sees
// the client and not the balancer (HAProxy, "The PROXY protocol", versions 1 and 2).
// Pure: bytes in, addresses out; knows no socket. Must not know which peers are trusted.
#pragma once
#include "daemons/common/net/network.h"
#include "libsmtp/text/text.h"
#include <cstddef>
#include <expected>
#include <optional>
#include <string_view>

namespace common {

struct ProxyHeader {
    struct Addresses {
        Endpoint client, server; // server: what the client connected to
        bool operator==(const Addresses&) const = default;
    };
    // None: the balancer speaks for itself (LOCAL, its health checks) or cannot say (UNKNOWN): the connection
    // is what it is.
    std::optional<Addresses> addresses;
    std::size_t size = 0; // bytes of the header; what follows is the client's

    bool operator==(const ProxyHeader&) const = default;

    static constexpr std::size_t most_line = 107;         // version 1, with CRLF
    static constexpr std::size_t most_binary = 16 + 4096; // version 2; its TLVs may name a certificate
    static constexpr std::size_t most = most_binary;

    // `bytes` from the start of the connection. Empty: a header so far, and there must be more of it.
    // Malformed as soon as no header can begin so, or where one is over its limit. A CRC32C among the TLVs of
    // version 2 is verified, all others are skipped.
    static std::expected<std::optional<ProxyHeader>, smtp::Malformed> parse(std::string_view bytes);
};

} // namespace common

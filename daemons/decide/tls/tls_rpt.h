// Where a domain wants reports on TLS with its hosts (RFC 8460, 3): how its record in the DNS is read. Pure.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace decide::tls_rpt {

struct Destination {
    std::string mailbox; // "tlsrpt@example.com", of a mailto: URI; "" for https:
    std::string host;    // of an https: URI: lower case, a name
    std::uint16_t port = 443;
    std::string target; // path and query, "/" at least
    bool operator==(const Destination&) const = default;
};

inline constexpr std::size_t most_destinations = 5; // the others are skipped

// One of "mailto:tlsrpt@example.com", "https://example.com/v1"; false: none that can be used.
bool parse_uri(std::string_view uri, Destination& out);

// Of all TXT records of _smtp._tls.<domain>. Empty: no reports are wanted, or the record is malformed.
std::vector<Destination> find_destinations(std::span<const std::string> texts);

} // namespace decide::tls_rpt

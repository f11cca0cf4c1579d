#include "daemons/common/net/proxy_header.h"
#include "libspool/format/crc32c.h"
#include <algorithm>
#include <string>
#include <utility>

namespace common {

namespace {

using Parsed = std::expected<std::optional<ProxyHeader>, smtp::Malformed>;
using std::string_view_literals::operator""sv;

constexpr auto line_start = "PROXY "sv;
constexpr auto binary_start = "\r\n\r\n\0\r\nQUIT\n"sv;
constexpr std::size_t binary_fixed = 16; // start, version and command, family and transport, length

std::unexpected<smtp::Malformed> bad(std::string why) { return std::unexpected(smtp::Malformed{std::move(why)}); }

bool may_become(std::string_view bytes, std::string_view start) {
    return bytes.substr(0, start.size()) == start.substr(0, std::min(bytes.size(), start.size()));
}

// --- version 1: "PROXY TCP4 192.0.2.1 198.51.100.1 56324 25\r\n"

std::optional<std::uint16_t> port(std::string_view text) {
    const auto number = smtp::parse_number(text, 65535);
    if (!number || (text.size() > 1 && text.front() == '0')) return {};
    return static_cast<std::uint16_t>(*number);
}

std::optional<IpAddress> address(std::string_view text, bool v6) {
    if ((text.find(':') != text.npos) != v6) return {};
    return IpAddress::parse(text);
}

Parsed parse_line(std::string_view bytes) {
    const auto end = bytes.find('\n');
    if (std::min(end, bytes.size()) >= ProxyHeader::most_line) return bad("a line of more than 107 bytes");
    if (end == bytes.npos) return std::nullopt;
    ProxyHeader header;
    header.size = end + 1;
    if (bytes[end - 1] != '\r') return bad("the line does not end in CR LF");
    std::string_view rest = bytes.substr(line_start.size(), end - 1 - line_start.size());
    const auto next = [&rest] {
        const auto word = rest.substr(0, rest.find(' '));
        rest.remove_prefix(std::min(word.size() + 1, rest.size()));
        return word;
    };
    const auto family = next();
    if (family == "UNKNOWN") return header; // the rest is ignored
    if (family != "TCP4" && family != "TCP6") return bad("neither TCP4 nor TCP6 nor UNKNOWN");
    const bool v6 = family == "TCP6";
    const auto client = address(next(), v6), server = address(next(), v6);
    if (!client || !server) return bad("not two addresses of " + std::string(family));
    const auto client_port = port(next());
    const auto server_port = port(rest);
    if (!client_port || !server_port) return bad("not two ports");
    header.addresses = {{*client, *client_port}, {*server, *server_port}};
    return header;
}

// --- version 2

std::uint16_t number_at(std::string_view bytes, std::size_t at) {
    return static_cast<std::uint16_t>(static_cast<unsigned char>(bytes[at]) << 8 |
                                      static_cast<unsigned char>(bytes[at + 1]));
}

// The TLVs after the addresses, from `at` to the end of `header`.
std::expected<void, smtp::Malformed> check_extras(std::string_view header, std::size_t at) {
    constexpr unsigned char crc32c_type = 0x03;
    while (at < header.size()) {
        if (header.size() - at < 3) return bad("a truncated TLV");
        const auto type = static_cast<unsigned char>(header[at]);
        const std::size_t size = number_at(header, at + 1);
        at += 3;
        if (header.size() - at < size) return bad("a truncated TLV");
        if (type == crc32c_type) {
            if (size != 4) return bad("a checksum that is not 4 bytes long");
            const std::uint32_t said = std::uint32_t{number_at(header, at)} << 16 | number_at(header, at + 2);
            const auto before = spool::crc32c(header.substr(0, at)); // with zeroes in its own place
            const auto computed = spool::crc32c(header.substr(at + 4), spool::crc32c("\0\0\0\0"sv, before));
            if (said != computed) return bad("checksum mismatch");
        }
        at += size;
    }
    return {};
}

Parsed parse_binary(std::string_view bytes) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(bytes[at]); };
    if (bytes.size() > 12 && byte(12) != 0x20 && byte(12) != 0x21) return bad("neither LOCAL nor PROXY of version 2");
    if (bytes.size() < binary_fixed) return std::nullopt;
    ProxyHeader header;
    header.size = binary_fixed + number_at(bytes, 14);
    if (header.size > ProxyHeader::most_binary) return bad("more than 4096 bytes after its fixed part");
    const bool local = byte(12) == 0x20;
    const auto family = byte(13);
    constexpr unsigned char unspecified = 0x00, tcp4 = 0x11, tcp6 = 0x21, unix_stream = 0x31;
    if (!local && family != unspecified && family != tcp4 && family != tcp6 && family != unix_stream)
        return bad("an address family or transport not used by SMTP");
    if (bytes.size() < header.size) return std::nullopt;
    if (local) return header; // the rest has no meaning
    const std::size_t length = family == tcp4 ? 4 : family == tcp6 ? 16 : 0;
    const std::size_t addresses = family == unix_stream ? 216 : length == 0 ? 0 : 2 * length + 4;
    if (header.size < binary_fixed + addresses) return bad("shorter than its addresses");
    auto sound = check_extras(bytes.substr(0, header.size), binary_fixed + addresses);
    if (!sound) return std::unexpected(std::move(sound.error()));
    if (length == 0) return header;
    const auto endpoint = [&](std::size_t at, std::size_t port_at) {
        Endpoint out;
        if (length == 4) out.address = *IpAddress::parse("0.0.0.0");
        std::ranges::transform(bytes.substr(at, length), out.address.bytes.end() - static_cast<long>(length),
                               [](char c) { return static_cast<std::uint8_t>(c); });
        out.port = number_at(bytes, port_at);
        return out;
    };
    const auto ports = binary_fixed + 2 * length;
    header.addresses = {endpoint(binary_fixed, ports), endpoint(binary_fixed + length, ports + 2)};
    return header;
}

} // namespace

Parsed ProxyHeader::parse(std::string_view bytes) {
    if (bytes.empty()) return std::nullopt;
    if (bytes.front() == line_start.front() && may_become(bytes, line_start)) return parse_line(bytes);
    if (may_become(bytes, binary_start)) return parse_binary(bytes);
    return bad("not a PROXY header");
}

} // namespace common

#include "daemons/common/net/proxy_header.h"
#include "libspool/format/crc32c.h"
#include "tests/libsmtp/text/pieces.h"
#include <doctest/doctest.h>
#include <string>

using common::ProxyHeader;
using std::string_literals::operator""s;
using std::string_view_literals::operator""sv;

namespace {

std::string number(std::size_t n) { return {static_cast<char>(n >> 8), static_cast<char>(n)}; }

// A header of version 2.
std::string binary(char command, char family, std::string_view rest) {
    return "\r\n\r\n\0\r\nQUIT\n"s + command + family + number(rest.size()) + std::string(rest);
}
std::string tlv(char type, std::string_view value) { return type + number(value.size()) + std::string(value); }

constexpr auto tcp4 = "\xc0\x00\x02\x01\xc6\x33\x64\x01\xdc\x04\x00\x19"sv; // 192.0.2.1:56324 198.51.100.1:25

// With its CRC32C, computed as the specification says: over all of it, the checksum's own bytes being zero.
std::string with_checksum(std::string_view addresses, std::string_view more = {}) {
    const auto zero = "\0\0\0\0"sv;
    auto header = binary('\x21', '\x11', std::string(addresses) + tlv('\x03', zero) + std::string(more));
    const auto crc = spool::crc32c(header);
    const auto at = 16 + addresses.size() + 3;
    for (std::size_t i = 0; i < 4; ++i) header[at + i] = static_cast<char>(crc >> (24 - 8 * i));
    return header;
}

// "192.0.2.1:56324 198.51.100.1:25", "itself", "!why" or "more". Whole, in sevens, byte by byte and cut in two
// everywhere: what has come so far is parsed after each piece, with what the client says behind it at last.
std::string read(std::string_view header) {
    std::string first;
    for (const auto& way : pieces::every_way(header)) {
        std::string so_far, said = "more";
        for (auto piece : way) {
            so_far += piece;
            if (so_far.size() == header.size()) so_far += "EHLO client\r\n";
            const auto parsed = ProxyHeader::parse(so_far);
            if (!parsed)
                said = "!" + parsed.error().why;
            else if (!*parsed)
                continue;
            else if ((*parsed)->addresses)
                said = (*parsed)->addresses->client.to_string() + " " + (*parsed)->addresses->server.to_string();
            else
                said = "itself";
            if (parsed) CHECK((*parsed)->size == header.size());
            break;
        }
        if (first.empty()) first = said;
        CHECK(said == first);
    }
    return first;
}

} // namespace

TEST_CASE("version 1 names the client in one line") {
    CHECK(read("PROXY TCP4 192.0.2.1 198.51.100.1 56324 25\r\n") == "192.0.2.1:56324 198.51.100.1:25");
    CHECK(read("PROXY TCP6 2001:db8::1 2001:db8::2 1 65535\r\n") == "[2001:db8::1]:1 [2001:db8::2]:65535");
    CHECK(read("PROXY TCP6 ::ffff:192.0.2.1 ::ffff:198.51.100.1 0 25\r\n") == "192.0.2.1:0 198.51.100.1:25");
    CHECK(read("PROXY TCP6 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff "
               "65535 65535\r\n") ==
          "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535 [ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535");
    CHECK(read("PROXY UNKNOWN\r\n") == "itself");
    CHECK(read("PROXY UNKNOWN ffff::1 ffff::2 65535 whatever\r\n") == "itself");
}

TEST_CASE("version 1 that is no header") {
    CHECK(read("EHLO client.example\r\n") == "!not a PROXY header");
    CHECK(read("proxy TCP4 192.0.2.1 198.51.100.1 1 2\r\n") == "!not a PROXY header");
    CHECK(read("PROXY TCP5 192.0.2.1 198.51.100.1 1 2\r\n") == "!neither TCP4 nor TCP6 nor UNKNOWN");
    CHECK(read("PROXY \r\n") == "!neither TCP4 nor TCP6 nor UNKNOWN");
    for (auto text : {"TCP4 2001:db8::1 198.51.100.1 1 2", "TCP6 192.0.2.1 2001:db8::1 1 2", "TCP4 192.0.2.1",
                      "TCP4 192.0.2 198.51.100.1 1 2", "TCP4 192.0.2.1  198.51.100.1 1 2", "TCP4", "TCP4 a b 1 2",
                      "TCP4 192.0.2.001 198.51.100.1 1 2", "TCP6 [::1] ::1 1 2", "TCP6 fe80::1%lo ::1 1 2"})
        CHECK_MESSAGE(read("PROXY " + std::string(text) + "\r\n").starts_with("!not two addresses"), text);
    for (auto text : {"65536 25", "1", "1 ", " 1 2", "01 25", "-1 25", "+1 25", "1 2 3", "1 2 ", "1  2", "0x1 2",
                      "1 99999999999999999999"})
        CHECK_MESSAGE(read("PROXY TCP4 192.0.2.1 198.51.100.1 " + std::string(text) + "\r\n") == "!not two ports",
                      text);
    CHECK(read("PROXY TCP4 192.0.2.1 198.51.100.1 1 2\n") == "!the line does not end in CR LF");
}

TEST_CASE("version 1 ends somewhere") {
    const auto line = "PROXY UNKNOWN " + std::string(107 - 14 - 2, 'x') + "\r\n";
    CHECK(read(line) == "itself");
    CHECK(read("PROXY UNKNOWN x" + line.substr(14)) == "!a line of more than 107 bytes");
    CHECK(!ProxyHeader::parse("PROXY " + std::string(101, 'x')));
    const auto not_yet = ProxyHeader::parse("PROXY " + std::string(100, 'x'));
    CHECK((not_yet && !*not_yet));
}

TEST_CASE("version 2 names the client in bytes") {
    CHECK(read(binary('\x21', '\x11', tcp4)) == "192.0.2.1:56324 198.51.100.1:25");
    const auto tcp6 = "\x20\x01\x0d\xb8" + std::string(11, '\0') + "\x01" + "\x20\x01\x0d\xb8" + std::string(11, '\0') +
                      "\x02" + number(1) + number(465);
    CHECK(read(binary('\x21', '\x21', tcp6)) == "[2001:db8::1]:1 [2001:db8::2]:465");
    CHECK(read(binary('\x21', '\x11', std::string(tcp4) + tlv('\x02', "mail.example.com") + tlv('\x04', ""))) ==
          "192.0.2.1:56324 198.51.100.1:25");
    CHECK(read(binary('\x20', '\x00', "")) == "itself");
    CHECK(read(binary('\x20', '\x11', "no addresses at all")) == "itself");
    CHECK(read(binary('\x21', '\x00', tlv('\xea', "vpce"))) == "itself");
    CHECK(read(binary('\x21', '\x31', std::string(216, 'u'))) == "itself");
    CHECK(read(binary('\x21', '\x11', std::string(tcp4) + tlv('\x05', std::string(4096 - 15, 'x')))) ==
          "192.0.2.1:56324 198.51.100.1:25");
}

TEST_CASE("version 2 that is no header") {
    CHECK(read("\r\n\r\n\0\r\nQUIX\n\x21\x11\0\0"sv) == "!not a PROXY header");
    CHECK(read("\r\n\r\nEHLO x\r\n") == "!not a PROXY header");
    CHECK(read(binary('\x22', '\x11', tcp4)) == "!neither LOCAL nor PROXY of version 2");
    CHECK(read(binary('\x11', '\x11', tcp4)) == "!neither LOCAL nor PROXY of version 2");
    for (char family : {'\x10', '\x12', '\x22', '\x32', '\x41', '\x01', '\xff'})
        CHECK(read(binary('\x21', family, tcp4)) == "!an address family or transport not used by SMTP");
    CHECK(read(binary('\x21', '\x11', tcp4.substr(0, 11))) == "!shorter than its addresses");
    CHECK(read(binary('\x21', '\x21', tcp4)) == "!shorter than its addresses");
    CHECK(read(binary('\x21', '\x31', tcp4)) == "!shorter than its addresses");
    CHECK(read(binary('\x21', '\x11', std::string(tcp4) + "\x04")) == "!a truncated TLV");
    CHECK(read(binary('\x21', '\x11', std::string(tcp4) + "\x04" + number(2) + "x")) == "!a truncated TLV");
    CHECK(read(binary('\x21', '\x11', std::string(4097, 'x'))) == "!more than 4096 bytes after its fixed part");
}

TEST_CASE("a checksum of version 2 is believed only if it fits") {
    const auto good = with_checksum(tcp4, tlv('\x02', "mail.example.com"));
    CHECK(read(good) == "192.0.2.1:56324 198.51.100.1:25");
    for (std::size_t at : {std::size_t{17}, 16 + tcp4.size() + 3, 16 + tcp4.size() + 6, good.size() - 1}) {
        auto damaged = good;
        damaged[at] = static_cast<char>(damaged[at] ^ 1);
        CHECK(read(damaged) == "!checksum mismatch");
    }
    CHECK(read(binary('\x21', '\x11', std::string(tcp4) + tlv('\x03', "abc"))) ==
          "!a checksum that is not 4 bytes long");
}

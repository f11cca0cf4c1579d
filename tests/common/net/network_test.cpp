#include "daemons/common/net/network.h"
#include <doctest/doctest.h>
#include <netinet/in.h>

using common::Endpoint;
using common::IpAddress;
using common::Network;

TEST_CASE("addresses are read and printed; IPv4 in IPv6 is IPv4") {
    CHECK(IpAddress::parse("192.0.2.1")->to_string() == "192.0.2.1");
    CHECK(IpAddress::parse("::ffff:192.0.2.1") == IpAddress::parse("192.0.2.1"));
    CHECK(IpAddress::parse("2001:DB8:0::1")->to_string() == "2001:db8::1");
    for (auto odd : {"", "192.0.2", "192.0.2.256", "[::1]", "::1%lo", "a.example", "1.2.3.4 ", "::ffff:1.2.3.4.5"})
        CHECK_MESSAGE(!IpAddress::parse(odd), odd);
    CHECK(IpAddress::parse("127.9.9.9")->is_loopback());
    CHECK(IpAddress::parse("::1")->is_loopback());
    CHECK(!IpAddress::parse("::2")->is_loopback());
    CHECK(!IpAddress::parse("::")->is_loopback());
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_addr.s_addr = htonl(0x7f000001);
    CHECK(IpAddress::of(reinterpret_cast<sockaddr*>(&in))->to_string() == "127.0.0.1");
    in.sin_family = AF_UNIX;
    CHECK(!IpAddress::of(reinterpret_cast<sockaddr*>(&in)));
}

TEST_CASE("a network contains its addresses and no others") {
    struct Row {
        const char *network, *inside, *outside;
    } rows[] = {
        {"127.0.0.0/8", "127.255.255.255", "128.0.0.0"},
        {"192.0.2.128/25", "192.0.2.200", "192.0.2.127"},
        {"192.0.2.7", "192.0.2.7", "192.0.2.8"},
        {"0.0.0.0/0", "8.8.8.8", "2001:db8::1"},
        {"::/0", "8.8.8.8", ""},
        {"2001:db8::/33", "2001:db8:7fff::1", "2001:db8:8000::"},
        {"[2001:db8::]/32", "2001:db8::9", "::1"},
    };
    for (const auto& row : rows) {
        const auto network = Network::parse(row.network);
        REQUIRE_MESSAGE(network, row.network);
        CHECK_MESSAGE(network->contains(*IpAddress::parse(row.inside)), row.network);
        if (*row.outside) CHECK_MESSAGE(!network->contains(*IpAddress::parse(row.outside)), row.network);
        CHECK(Network::parse(network->to_string()) == network);
    }
    for (auto odd :
         {"", "/8", "127.0.0.1/8", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8x", "::/129", "x/8"})
        CHECK_MESSAGE(!Network::parse(odd), odd);
}

TEST_CASE("endpoints") {
    CHECK(Endpoint::parse("127.0.0.1:25")->to_string() == "127.0.0.1:25");
    CHECK(Endpoint::parse("[::1]:2525")->to_string() == "[::1]:2525");
    CHECK(Endpoint::parse("127.0.0.1", 53)->port == 53);
    CHECK(Endpoint::parse("::1", 53)->to_string() == "[::1]:53");
    for (auto odd : {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:-5", ":25", "[::1]",
                     "[::1]25", "[::1", "::1:25:"})
        CHECK_MESSAGE(!Endpoint::parse(odd), odd);
}

#include "daemons/common/web/client_counts.h"
#include <doctest/doctest.h>

using common::IpAddress;
using web::ClientCounts;

TEST_CASE("each client has its own connections; what ends makes room") {
    ClientCounts counts(2);
    const auto one = *IpAddress::parse("192.0.2.1"), other = *IpAddress::parse("192.0.2.2");
    counts.add(one);
    CHECK(counts.has_room(one));
    counts.add(one);
    CHECK_FALSE(counts.has_room(one));
    CHECK(counts.has_room(other));
    counts.remove(one);
    CHECK(counts.has_room(one));
    counts.remove(one);
    CHECK(counts.clients() == 0);
    counts.remove(one);
    CHECK(counts.clients() == 0);
}

TEST_CASE("an IPv6 network of 64 bits is one client; loopback has no limit") {
    ClientCounts counts(1);
    counts.add(*IpAddress::parse("2001:db8::1"));
    CHECK_FALSE(counts.has_room(*IpAddress::parse("2001:db8::2:3:4:5")));
    CHECK(counts.has_room(*IpAddress::parse("2001:db8:0:1::1")));
    counts.remove(*IpAddress::parse("2001:db8::2"));
    CHECK(counts.clients() == 0);
    for (const auto* local : {"127.0.0.1", "::1"}) {
        counts.add(*IpAddress::parse(local));
        CHECK(counts.has_room(*IpAddress::parse(local)));
    }
    ClientCounts unlimited(0);
    for (int i = 0; i < 10; ++i) unlimited.add(*IpAddress::parse("192.0.2.1"));
    CHECK(unlimited.has_room(*IpAddress::parse("192.0.2.1")));
}

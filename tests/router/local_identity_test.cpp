// Which addresses lead back to this system: what strangers' MX records name must not go round through our own server.
#include "daemons/router/local_identity.h"
#include <doctest/doctest.h>

using common::IpAddress;

namespace {

router::LocalIdentity listening(const char* address, const std::vector<IpAddress>& interfaces) {
    config::Listener listener;
    listener.addresses = {*common::Endpoint::parse(address)};
    return {{"mx.example.com"}, {listener}, interfaces};
}

bool ours(const router::LocalIdentity& local_identity, const char* address, std::uint16_t port = 25) {
    return local_identity.is_address(*IpAddress::parse(address), port);
}

const std::vector interfaces = {*IpAddress::parse("127.0.0.1"), *IpAddress::parse("::1"),
                                *IpAddress::parse("192.0.2.1"), *IpAddress::parse("2001:db8::1")};

} // namespace

TEST_CASE("who listens on every address is reached over all of loopback, and over no address at all") {
    const auto all = listening("[::]:25", interfaces);
    for (const auto* address : {"127.0.0.1", "127.0.0.2", "127.255.255.254", "0.0.0.0", "::", "::1", "::ffff:127.0.0.9",
                                "192.0.2.1", "2001:db8::1"}) {
        CAPTURE(address);
        CHECK(ours(all, address));
        CHECK_FALSE(ours(all, address, 26));
    }
    CHECK_FALSE(ours(all, "192.0.2.2"));
    CHECK_FALSE(ours(all, "128.0.0.1"));

    const auto v4 = listening("0.0.0.0:25", interfaces);
    CHECK(ours(v4, "127.0.0.2"));
    CHECK(ours(v4, "0.0.0.0"));
    CHECK(ours(v4, "192.0.2.1"));
    CHECK_FALSE(ours(v4, "::1"));
    CHECK_FALSE(ours(v4, "2001:db8::1"));
}

TEST_CASE("who listens on one address is reached over that one") {
    const auto one = listening("127.0.0.1:25", interfaces);
    CHECK(ours(one, "127.0.0.1"));
    CHECK(ours(one, "0.0.0.0"));         // a connection there ends at 127.0.0.1
    CHECK_FALSE(ours(one, "127.0.0.2")); // somebody else's: a filter, say
    CHECK_FALSE(ours(one, "192.0.2.1"));
    const auto outside = listening("192.0.2.1:25", interfaces);
    CHECK(ours(outside, "192.0.2.1"));
    CHECK_FALSE(ours(outside, "0.0.0.0"));
    CHECK_FALSE(ours(outside, "127.0.0.1"));
}

// Which address comes next: preference, chance among equals, the bound, those that failed lately.
#include "daemons/common/loop.h"
#include "daemons/smtp-client/address_walk.h"
#include <doctest/doctest.h>
#include <set>

using namespace smtp_client;

namespace {

std::vector<std::string> walk(std::vector<proto::route::Host> hosts, std::uint32_t seed, Peers peers = {},
                              std::size_t most = 5) {
    common::Loop loop;
    std::mt19937 random(seed);
    std::vector<std::string> out;
    AddressWalk walk(std::make_shared<dns::Resolver>(loop, config::Dns{}), peers, random, {true, true, most},
                     std::move(hosts));
    for (bool more = true; more;)
        walk.next([&](std::optional<Candidate> found) {
            more = found.has_value();
            if (found) out.push_back(found->relay());
        });
    return out;
}

} // namespace

TEST_CASE("hosts by preference, equals in any order") {
    const std::vector<proto::route::Host> hosts{
        {"192.0.2.3", 25, 20}, {"192.0.2.1", 25, 10}, {"192.0.2.2", 2525, 10}};
    std::set<std::string> first;
    for (std::uint32_t seed = 0; seed < 20; ++seed) {
        const auto order = walk(hosts, seed);
        REQUIRE(order.size() == 3);
        CHECK(order[2] == "192.0.2.3[192.0.2.3]:25");
        first.insert(order[0]);
    }
    CHECK(first == std::set<std::string>{"192.0.2.1[192.0.2.1]:25", "192.0.2.2[192.0.2.2]:2525"});
}

TEST_CASE("no more addresses than an attempt may try") {
    std::vector<proto::route::Host> hosts;
    for (int i = 1; i <= 50; ++i) hosts.push_back({"192.0.2." + std::to_string(i), 25, 10});
    CHECK(walk(hosts, 1).size() == 5);
    CHECK(walk({{"2001:db8::1", 25, 10}}, 1) == std::vector<std::string>{"2001:db8::1[2001:db8::1]:25"});
    CHECK(walk({}, 1).empty());
}

TEST_CASE("what is remembered of an address fades") {
    Peers peers;
    const auto address = *common::IpAddress::parse("192.0.2.1");
    const smtp::Monotonic now{std::chrono::hours(1000)};
    CHECK(!peers.failed_lately(address, now));
    CHECK(peers.may_pipeline(address, now));
    peers.failed(address, now);
    peers.distrust_pipelining(address, now);
    CHECK(peers.failed_lately(address, now));
    CHECK(!peers.may_pipeline(address, now));
    CHECK(!peers.failed_lately(address, now + Peers::failed_for));
    CHECK(peers.may_pipeline(address, now + Peers::distrusted_for));
    peers.worked(address);
    CHECK(!peers.failed_lately(address, now));
    for (std::uint32_t i = 0; i < 2 * Peers::most; ++i) {
        common::IpAddress other;
        other.bytes[0] = static_cast<std::uint8_t>(i >> 16),
        other.bytes[1] = static_cast<std::uint8_t>(i >> 8), other.bytes[2] = static_cast<std::uint8_t>(i);
        peers.failed(other, now);
    }
    CHECK(peers.failed_lately(common::IpAddress{{0, 0x4e, 0x1f}}, now)); // the last one
}

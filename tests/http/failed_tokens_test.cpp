#include "daemons/http/failed_tokens.h"
#include <chrono>
#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace http;
using namespace std::chrono_literals;

namespace {

constexpr FailedTokens::Limits limits{.per_network = 3, .window = 10min};

common::IpAddress at(const std::string& text) { return *common::IpAddress::parse(text); }
smtp::Monotonic after(smtp::Duration since_start) { return smtp::Monotonic(since_start); }

} // namespace

TEST_CASE("networks of clients are IPv4 /24 and IPv6 /64") {
    CHECK(FailedTokens::network_of(at("192.0.2.77")).to_string() == "192.0.2.0/24");
    CHECK(FailedTokens::network_of(at("::ffff:192.0.2.77")).to_string() == "192.0.2.0/24");
    CHECK(FailedTokens::network_of(at("2001:db8:1:2:3:4:5:6")).to_string() == "2001:db8:1:2::/64");
}

TEST_CASE("a network is locked out after some failures, until the window that began with the first one has passed") {
    FailedTokens failed;
    CHECK_FALSE(failed.record(at("192.0.2.1"), limits, after(0s)));
    CHECK_FALSE(failed.record(at("192.0.2.2"), limits, after(1min)));
    CHECK_FALSE(failed.locked_for(at("192.0.2.1"), limits, after(1min)));
    CHECK(failed.record(at("192.0.2.3"), limits, after(2min)));
    CHECK(failed.locked_for(at("192.0.2.200"), limits, after(2min)) == smtp::Duration(8min));
    CHECK_FALSE(failed.locked_for(at("192.0.3.1"), limits, after(2min)));
    CHECK_FALSE(failed.record(at("192.0.2.3"), limits, after(3min))); // was triggered before
    CHECK(failed.locked_for(at("192.0.2.1"), limits, after(10min - 1us)) == smtp::Duration(1us));
    CHECK_FALSE(failed.locked_for(at("192.0.2.1"), limits, after(10min)));
    CHECK_FALSE(failed.record(at("192.0.2.1"), limits, after(10min))); // a new window
    CHECK(failed.size() == 1);
    CHECK_FALSE(failed.locked_for(at("192.0.2.1"), limits, after(10min)));
}

TEST_CASE("IPv6 clients of one /64 count together, IPv4 clients do not count for ::/64") {
    FailedTokens failed;
    for (const auto* text : {"2001:db8::1", "2001:db8::ffff:2", "2001:db8:0:0:1::3"})
        failed.record(at(text), limits, after(0s));
    CHECK(failed.locked_for(at("2001:db8::4"), limits, after(0s)));
    CHECK_FALSE(failed.locked_for(at("2001:db8:0:1::1"), limits, after(0s)));
    for (int n = 0; n < 3; ++n) failed.record(at("192.0.2.1"), limits, after(0s));
    CHECK_FALSE(failed.locked_for(at("::2"), limits, after(0s)));
}

TEST_CASE("limits: one is enough, none locks nobody out and keeps nothing; clear() lifts lockouts") {
    FailedTokens failed;
    CHECK(failed.record(at("192.0.2.1"), {.per_network = 1, .window = 1min}, after(0s)));
    CHECK_FALSE(failed.locked_for(at("192.0.2.1"), {.per_network = 0, .window = 1min}, after(0s)));
    failed.clear();
    CHECK_FALSE(failed.locked_for(at("192.0.2.1"), {.per_network = 1, .window = 1min}, after(0s)));
    CHECK_FALSE(failed.record(at("192.0.2.1"), {.per_network = 0, .window = 1min}, after(0s)));
    CHECK(failed.size() == 0);
}

TEST_CASE("memory is bounded: the network whose count began first makes room; what has passed is forgotten") {
    FailedTokens failed;
    for (std::size_t n = 0; n < FailedTokens::most_networks + 5; ++n)
        for (int times = 0; times < 3; ++times)
            failed.record(at(fmt::format("10.{}.{}.1", n / 256, n % 256)), limits, after(std::chrono::milliseconds(n)));
    CHECK(failed.size() == FailedTokens::most_networks);
    CHECK_FALSE(failed.locked_for(at("10.0.4.1"), limits, after(1min)));
    CHECK(failed.locked_for(at("10.0.5.1"), limits, after(1min)));
    failed.record(at("192.0.2.1"), limits, after(11min));
    CHECK(failed.size() == 1);
}

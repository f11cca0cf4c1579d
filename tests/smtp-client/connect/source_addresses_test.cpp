#include "daemons/smtp-client/connect/source_addresses.h"
#include <doctest/doctest.h>
#include <map>

using common::IpAddress;
using smtp_client::SourceAddresses;

namespace {

std::shared_ptr<const config::Pool> pool(std::vector<std::string> lines) {
    auto out = std::make_shared<config::Pool>();
    out->name = "bulk";
    for (const auto& line : lines) REQUIRE_FALSE(config::SourceAddress::read(line, out->addresses.emplace_back()));
    return out;
}

const IpAddress v4 = *IpAddress::parse("203.0.113.1"), v6 = *IpAddress::parse("2001:db8:1::1");

std::string text(const config::SourceAddress* source) { return source ? source->address.to_string() : "none"; }

} // namespace

TEST_CASE("without a pool the kernel chooses, and everything can be reached") {
    std::mt19937 random(1);
    SourceAddresses sources(nullptr, {}, 5, random);
    CHECK(sources.reaches_v4());
    CHECK(sources.reaches_v6());
    CHECK(sources.source_for(v4) == nullptr);
    sources.reached(nullptr);
    CHECK_FALSE(sources.rejected_by_server("no"));
    CHECK(sources.take_rejections().empty());
    sources.next_server();
}

TEST_CASE("the family of the server decides, and what was chosen for it stays") {
    std::mt19937 random(1);
    const auto both = pool({"192.0.2.1", "192.0.2.2", "2001:db8::1"});
    SourceAddresses sources(both, {}, 5, random);
    const auto* first = sources.source_for(v4);
    CHECK(text(sources.source_for(v6)) == "2001:db8::1");
    for (int i = 0; i < 100; ++i) CHECK(sources.source_for(v4) == first);
    SourceAddresses only_v6(pool({"2001:db8::1"}), {}, 5, random);
    CHECK_FALSE(only_v6.reaches_v4());
    CHECK(only_v6.reaches_v6());
    CHECK(only_v6.source_for(v4) == nullptr);
}

TEST_CASE("connections share the addresses by weight") {
    std::mt19937 random(1);
    const auto weighted =
        pool({"192.0.2.1 a.example.com 1", "192.0.2.2 b.example.com 3", "2001:db8::1 a.example.com 1000"});
    std::map<std::string, int> count;
    for (int i = 0; i < 40'000; ++i) ++count[text(SourceAddresses(weighted, {}, 5, random).source_for(v4))];
    CHECK(count.size() == 2);
    CHECK(count["192.0.2.1"] > 9'500);
    CHECK(count["192.0.2.1"] < 10'500);
}

TEST_CASE("a refused one makes room for the next; who was refused before one was taken is told") {
    std::mt19937 random(1);
    SourceAddresses sources(pool({"192.0.2.1", "192.0.2.2"}), {}, 5, random);
    const auto* first = sources.source_for(v4);
    sources.reached(first);
    CHECK(sources.rejected_by_server("554 no"));
    const auto* second = sources.source_for(v4);
    CHECK(second != first);
    sources.reached(second);
    const auto told = sources.take_rejections();
    REQUIRE(told.size() == 1);
    CHECK(told[0].source == text(first));
    CHECK(told[0].why == "554 no");
    CHECK(sources.take_rejections().empty());
}

TEST_CASE("when a server refuses all, none is told of, and the next server hears from all again") {
    std::mt19937 random(1);
    SourceAddresses sources(pool({"192.0.2.1", "192.0.2.2"}), {}, 5, random);
    sources.reached(sources.source_for(v4));
    CHECK(sources.rejected_by_server("421 busy"));
    sources.reached(sources.source_for(v4));
    CHECK_FALSE(sources.rejected_by_server("421 busy"));
    sources.next_server();
    CHECK(sources.take_rejections().empty());
    sources.reached(sources.source_for(v4));
    CHECK(sources.rejected_by_server("421 busy"));
}

TEST_CASE("an attempt meets so many refusals and no more") {
    std::mt19937 random(1);
    std::vector<std::string> many;
    for (int i = 1; i <= 200; ++i) many.push_back("192.0.2." + std::to_string(i));
    SourceAddresses sources(pool(many), {}, 5, random);
    int tries = 1;
    for (int server = 0; server < 3; ++server, sources.next_server()) {
        sources.reached(sources.source_for(v4));
        while (sources.rejected_by_server("no")) sources.reached(sources.source_for(v4)), ++tries;
    }
    CHECK(tries == 6);
}

TEST_CASE("who rests is tried last; who is not this host's not at all") {
    std::mt19937 random(1);
    const auto three = pool({"192.0.2.1 a.example.com 1000", "192.0.2.2", "192.0.2.3"});
    for (int i = 0; i < 100; ++i) {
        SourceAddresses sources(three, {"192.0.2.1"}, 5, random);
        CHECK(text(sources.source_for(v4)) != "192.0.2.1");
        for (int n = 0; n < 2; ++n) sources.mark_unusable(*sources.source_for(v4));
        CHECK(text(sources.source_for(v4)) == "192.0.2.1");
        sources.mark_unusable(*sources.source_for(v4));
        CHECK(sources.source_for(v4) == nullptr);
        sources.next_server();
        CHECK(sources.source_for(v4) == nullptr);
        CHECK(sources.take_unusable().size() == 3);
        CHECK(sources.take_unusable().empty());
    }
}

TEST_CASE("where it comes from, and why from nowhere") {
    std::mt19937 random(1);
    SourceAddresses none(nullptr, {}, 5, random);
    CHECK(none.description() == "");
    SourceAddresses sources(pool({"192.0.2.1", "192.0.2.2"}), {}, 5, random);
    CHECK(sources.why_no_source_for(v6) == "the pool bulk has no IPv6 address");
    const auto* first = sources.source_for(v4);
    sources.reached(first);
    CHECK(sources.description() == "from " + text(first) + " of the pool bulk");
    sources.mark_unusable(*first);
    const auto* second = sources.source_for(v4);
    sources.reached(second);
    CHECK(sources.description() ==
          "from " + text(second) + " of the pool bulk (this host does not have " + text(first) + ")");
    sources.mark_unusable(*second);
    CHECK(sources.source_for(v4) == nullptr);
    CHECK(sources.why_no_source_for(v4) ==
          "no address of the pool bulk can be used: this host does not have 192.0.2.1, 192.0.2.2");
}

TEST_CASE("after a refusal by the site only one that does not rest is another") {
    std::mt19937 random(1);
    const auto three = pool({"192.0.2.1 a.example.com 1000", "192.0.2.2", "192.0.2.3"});
    SourceAddresses sources(three, {"192.0.2.3"}, 5, random);
    sources.reached(sources.source_for(v4));
    CHECK(sources.current_text() == "192.0.2.1");
    CHECK_FALSE(sources.is_backing_off());
    CHECK(sources.rejected_by_site());
    CHECK(sources.is_backing_off());
    sources.reached(sources.source_for(v4));
    CHECK(sources.current_text() == "192.0.2.2");
    CHECK_FALSE(sources.rejected_by_site());
    CHECK(text(sources.source_for(v4)) == "192.0.2.2"); // it stays with what it has
    CHECK(sources.take_rejections().empty());           // nothing more is to be told of those
    // At another server of the site it rests still, and may be refused there at the door.
    sources.next_server();
    sources.reached(sources.source_for(v4));
    CHECK(sources.is_backing_off());
    CHECK(sources.rejected_by_server("no"));
    sources.end_backoff();
    CHECK_FALSE(sources.is_backing_off());
    CHECK_FALSE(SourceAddresses(nullptr, {}, 5, random).rejected_by_site());
}

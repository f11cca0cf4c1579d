#include "daemons/smtp-client/connect/source_addresses.h"
#include <doctest/doctest.h>
#include <map>

using common::IpAddress;
using smtp_client::Sources;

namespace {

std::shared_ptr<const config::Pool> pool(std::vector<std::string> lines) {
    auto out = std::make_shared<config::Pool>();
    out->name = "bulk";
    for (const auto& line : lines) REQUIRE(config::Source::read(line, out->addresses.emplace_back()) == "");
    return out;
}

const IpAddress v4 = *IpAddress::parse("203.0.113.1"), v6 = *IpAddress::parse("2001:db8:1::1");

std::string text(const config::Source* source) { return source ? source->address.to_string() : "none"; }

} // namespace

TEST_CASE("without a pool the kernel chooses, and everything can be reached") {
    std::mt19937 random(1);
    Sources sources(nullptr, {}, 5, random);
    CHECK(sources.reaches_v4());
    CHECK(sources.reaches_v6());
    CHECK(sources.toward(v4) == nullptr);
    sources.reached(nullptr);
    CHECK_FALSE(sources.refused("no"));
    CHECK(sources.taken_instead().empty());
    sources.next_server();
}

TEST_CASE("the family of the server decides, and what was chosen for it stays") {
    std::mt19937 random(1);
    const auto both = pool({"192.0.2.1", "192.0.2.2", "2001:db8::1"});
    Sources sources(both, {}, 5, random);
    const auto* first = sources.toward(v4);
    CHECK(text(sources.toward(v6)) == "2001:db8::1");
    for (int i = 0; i < 100; ++i) CHECK(sources.toward(v4) == first);
    Sources only_v6(pool({"2001:db8::1"}), {}, 5, random);
    CHECK_FALSE(only_v6.reaches_v4());
    CHECK(only_v6.reaches_v6());
    CHECK(only_v6.toward(v4) == nullptr);
}

TEST_CASE("connections share the addresses by weight") {
    std::mt19937 random(1);
    const auto weighted = pool({"192.0.2.1 a.example.com 1", "192.0.2.2 b.example.com 3", "2001:db8::1 a.example.com 1000"});
    std::map<std::string, int> count;
    for (int i = 0; i < 40'000; ++i) ++count[text(Sources(weighted, {}, 5, random).toward(v4))];
    CHECK(count.size() == 2);
    CHECK(count["192.0.2.1"] > 9'500);
    CHECK(count["192.0.2.1"] < 10'500);
}

TEST_CASE("a refused one makes room for the next; who was refused before one was taken is told") {
    std::mt19937 random(1);
    Sources sources(pool({"192.0.2.1", "192.0.2.2"}), {}, 5, random);
    const auto* first = sources.toward(v4);
    sources.reached(first);
    CHECK(sources.refused("554 no"));
    const auto* second = sources.toward(v4);
    CHECK(second != first);
    sources.reached(second);
    const auto told = sources.taken_instead();
    REQUIRE(told.size() == 1);
    CHECK(told[0].source == text(first));
    CHECK(told[0].why == "554 no");
    CHECK(sources.taken_instead().empty());
}

TEST_CASE("when a server refuses all, none is told of, and the next server hears from all again") {
    std::mt19937 random(1);
    Sources sources(pool({"192.0.2.1", "192.0.2.2"}), {}, 5, random);
    sources.reached(sources.toward(v4));
    CHECK(sources.refused("421 busy"));
    sources.reached(sources.toward(v4));
    CHECK_FALSE(sources.refused("421 busy"));
    sources.next_server();
    CHECK(sources.taken_instead().empty());
    sources.reached(sources.toward(v4));
    CHECK(sources.refused("421 busy"));
}

TEST_CASE("an attempt meets so many refusals and no more") {
    std::mt19937 random(1);
    std::vector<std::string> many;
    for (int i = 1; i <= 200; ++i) many.push_back("192.0.2." + std::to_string(i));
    Sources sources(pool(many), {}, 5, random);
    int tries = 1;
    for (int server = 0; server < 3; ++server, sources.next_server()) {
        sources.reached(sources.toward(v4));
        while (sources.refused("no")) sources.reached(sources.toward(v4)), ++tries;
    }
    CHECK(tries == 6);
}

TEST_CASE("who rests is tried last; who is not this host's not at all") {
    std::mt19937 random(1);
    const auto three = pool({"192.0.2.1 a.example.com 1000", "192.0.2.2", "192.0.2.3"});
    for (int i = 0; i < 100; ++i) {
        Sources sources(three, {"192.0.2.1"}, 5, random);
        CHECK(text(sources.toward(v4)) != "192.0.2.1");
        for (int n = 0; n < 2; ++n) sources.unusable(*sources.toward(v4));
        CHECK(text(sources.toward(v4)) == "192.0.2.1");
        sources.unusable(*sources.toward(v4));
        CHECK(sources.toward(v4) == nullptr);
        sources.next_server();
        CHECK(sources.toward(v4) == nullptr);
        CHECK(sources.found_unusable().size() == 3);
        CHECK(sources.found_unusable().empty());
    }
}

TEST_CASE("where it comes from, and why from nowhere") {
    std::mt19937 random(1);
    Sources none(nullptr, {}, 5, random);
    CHECK(none.departure() == "");
    Sources sources(pool({"192.0.2.1", "192.0.2.2"}), {}, 5, random);
    CHECK(sources.none_toward(v6) == "the pool bulk has no IPv6 address");
    const auto* first = sources.toward(v4);
    sources.reached(first);
    CHECK(sources.departure() == "from " + text(first) + ", of the pool bulk");
    sources.unusable(*first);
    const auto* second = sources.toward(v4);
    sources.reached(second);
    CHECK(sources.departure() == "from " + text(second) + ", of the pool bulk (this host does not have " + text(first) + ")");
    sources.unusable(*second);
    CHECK(sources.toward(v4) == nullptr);
    CHECK(sources.none_toward(v4) ==
          "no address of the pool bulk can be used: this host does not have 192.0.2.1, 192.0.2.2");
}

TEST_CASE("after a refusal by the site only one that does not rest is another") {
    std::mt19937 random(1);
    const auto three = pool({"192.0.2.1 a.example.com 1000", "192.0.2.2", "192.0.2.3"});
    Sources sources(three, {"192.0.2.3"}, 5, random);
    sources.reached(sources.toward(v4));
    CHECK(sources.current_text() == "192.0.2.1");
    CHECK_FALSE(sources.rests());
    CHECK(sources.refused_by_site());
    CHECK(sources.rests());
    sources.reached(sources.toward(v4));
    CHECK(sources.current_text() == "192.0.2.2");
    CHECK_FALSE(sources.refused_by_site());
    CHECK(text(sources.toward(v4)) == "192.0.2.2"); // it stays with what it has
    CHECK(sources.taken_instead().empty());         // nothing more is to be told of those
    // At another server of the site it rests still, and may be refused there at the door.
    sources.next_server();
    sources.reached(sources.toward(v4));
    CHECK(sources.rests());
    CHECK(sources.refused("no"));
    sources.rested();
    CHECK_FALSE(sources.rests());
    CHECK_FALSE(Sources(nullptr, {}, 5, random).refused_by_site());
}

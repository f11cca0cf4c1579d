#include "daemons/decide/hosts/mx.h"
#include <doctest/doctest.h>
#include <set>

using decide::decide_address_only;
using decide::decide_mx;
using decide::Destination;
using decide::Host;
using decide::link_name;
using decide::LookupStatus;
using decide::MxRecord;
using decide::RouteKind;

namespace {

const decide::IsSelf nobody = [](const std::string&) { return false; };
decide::IsSelf self(std::set<std::string> names) {
    return [names](const std::string& host) { return names.contains(host); };
}

// "5.1.2" for a refusal, else the link.
std::string outcome(const Destination& d) { return d.found() ? d.link : d.status; }
std::string mx(LookupStatus said, std::vector<MxRecord> records, const decide::IsSelf& is_self = nobody) {
    const auto decision = decide_mx("x.example", said, std::move(records), "", 25, is_self);
    return decision.address_only ? "address only" : outcome(decision.destination);
}
std::string address(LookupStatus a, LookupStatus aaaa) {
    return outcome(decide_address_only("x.example", a, aaaa, "", 25, nobody));
}

} // namespace

TEST_CASE("what the name system says about MX decides") {
    CHECK(mx(LookupStatus::failed, {}) == "4.4.3");
    CHECK(mx(LookupStatus::no_name, {}) == "5.1.2");
    CHECK(mx(LookupStatus::no_data, {}) == "address only");
    CHECK(mx(LookupStatus::records, {{0, ""}}) == "5.1.10");
    CHECK(mx(LookupStatus::records, {{20, "b"}, {10, "a"}}) == "a;b");
    CHECK(mx(LookupStatus::records, {{10, "b"}, {10, "a"}}) == "a,b");
    CHECK(mx(LookupStatus::records, {{10, "b"}, {5, "b"}}) == "b");
    CHECK(mx(LookupStatus::records, {{0, ""}, {10, "a"}}) == "a");
    CHECK(mx(LookupStatus::records, {{5, "192.0.2.1"}, {10, "a"}}) == "a");
    CHECK(mx(LookupStatus::records, {{5, "192.0.2.1"}}) == "5.4.4");
    CHECK(mx(LookupStatus::records, {}) == "5.4.4"); // none of them was usable: the address does not stand in for them
}

TEST_CASE("a failed look-up is temporary, and says what failed") {
    const auto decision = decide_mx("x.example", LookupStatus::failed, {}, "SERVFAIL", 25, nobody);
    CHECK(decision.destination.kind == RouteKind::temporary);
    CHECK(decision.destination.text ==
          "Host or domain name not found. Name service error for name=x.example type=MX: Host not "
          "found, try again (SERVFAIL)");
}

TEST_CASE("ourselves and everything worse are removed") {
    const std::vector<MxRecord> records = {{30, "far"}, {20, "me"}, {20, "peer"}, {10, "best"}};
    CHECK(mx(LookupStatus::records, records, self({"me"})) == "best");
    CHECK(mx(LookupStatus::records, records, self({"best"})) == "5.4.6");
    CHECK(mx(LookupStatus::records, records, self({"far"})) == "best;me,peer");
}

TEST_CASE("without MX the domain's own addresses count") {
    CHECK(address(LookupStatus::records, LookupStatus::no_data) == "x.example");
    CHECK(address(LookupStatus::failed, LookupStatus::records) == "x.example");
    CHECK(address(LookupStatus::no_data, LookupStatus::no_data) == "5.4.4");
    CHECK(address(LookupStatus::no_data, LookupStatus::failed) == "4.4.3");
    CHECK(address(LookupStatus::no_name, LookupStatus::no_name) == "5.1.2");
    CHECK(outcome(decide_address_only("x.example", LookupStatus::records, LookupStatus::no_data, "", 25,
                                      self({"x.example"}))) == "5.4.6");
}

TEST_CASE("a link from a pool is another link to the same hosts") {
    using decide::link_from, decide::link_to, decide::pool_of_link;
    CHECK(link_from("a,b;c", "") == "a,b;c");
    CHECK(link_from("[a]:2525;[::1]", "bulk") == "[a]:2525;[::1]@bulk");
    for (const char* link : {"a,b;c", "[a]:2525;[::1]", ""}) {
        CHECK(link_to(link) == link);
        CHECK(pool_of_link(link) == "");
        CHECK(link_to(link_from(link, "bulk")) == link);
        CHECK(pool_of_link(link_from(link, "bulk")) == "bulk");
    }
}

TEST_CASE("links are named by their hosts") {
    CHECK(link_name(RouteKind::mx, {{"b", 25, 10}, {"a", 25, 10}, {"c", 25, 20}}) == "a,b;c");
    CHECK(link_name(RouteKind::mx, {{"b", 25, 1}, {"a", 25, 1}, {"c", 25, 2}}) == "a,b;c");
    CHECK(link_name(RouteKind::configured, {{"a", 2525, 0}, {"::1", 25, 1}}) == "[a]:2525;[::1]");
    std::vector<Host> many;
    for (int i = 0; i < 50; ++i) many.push_back({"host" + std::to_string(i) + ".example.com", 25, 0});
    const auto name = link_name(RouteKind::mx, many);
    CHECK(name.size() <= 200);
    many[49].name = "other.example.com";
    CHECK(link_name(RouteKind::mx, many) != name);
}

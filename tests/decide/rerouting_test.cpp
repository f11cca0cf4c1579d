#include "daemons/decide/rerouting.h"
#include <doctest/doctest.h>
#include <set>

using namespace decide;
using Kind = Destination::Kind;

namespace {

NextHop hop(const char* text) { return *NextHop::parse(text); }

} // namespace

TEST_CASE("the preferred next hop that is not down; if all are, the preferred one") {
    const RouteRule rule{"*", {{hop("[one]")}, {hop("[two]:26"), hop("[three]")}, {hop("[four]")}}, 0};
    std::set<std::string> down;
    const auto link = [&] { return best(rule, [&](const auto& name) { return down.contains(name); }).link; };
    CHECK(link() == "[one]");
    down.insert("[one]");
    CHECK(link() == "[three],[two]:26");
    down.insert("[three],[two]:26");
    CHECK(link() == "[four]");
    down.insert("[four]");
    CHECK(link() == "[one]");
    down.erase("[three],[two]:26");
    CHECK(link() == "[three],[two]:26");
}

TEST_CASE("equals are one destination") {
    const auto both = configured({hop("[two]:26"), hop("[one]")});
    CHECK(both.kind == Kind::configured);
    CHECK(both.hosts == std::vector<Host>{{"one", 25, 0}, {"two", 26, 0}});
}

TEST_CASE("a relay of ours that does not exist is waited for") {
    const auto gone = named_by_rule(Destination::refuse(Kind::permanent, "5.1.2", "not found"));
    CHECK(gone.kind == Kind::temporary);
    CHECK(gone.status == "4.1.2");
    CHECK(named_by_rule(configured({hop("[one]")})).found());
}

#include "daemons/postrider/command/message_selector.h"
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using postrider::Choice;
using Words = std::vector<std::string>;

TEST_CASE("ids are told from filter words") {
    const Words ids = {"05A1B2C3D4E5F6", "0A1B2C3D4E5F"}, filter = {"sender=a@*", "age=+2h", "all"};
    const auto named = Choice::parse(ids);
    REQUIRE(named);
    CHECK(named->ids == Words{"05A1B2C3D4E5F6", "000A1B2C3D4E5F"});
    CHECK(named->filter.empty());
    CHECK(Choice::parse(filter)->filter == filter);
    CHECK(Choice::parse(Words{})->everything());
    const Words both = {"05A1B2C3D4E5F6", "all"};
    CHECK(Choice::parse(both).error().find("not by both") != std::string::npos);
}

TEST_CASE("ids from standard input") {
    const Words dash = {"-"};
    CHECK(Choice::parse(dash, {"05A1B2C3D4E5F6"})->ids == Words{"05A1B2C3D4E5F6"});
    CHECK(Choice::parse(dash, {"all"}).error().find("which is not a queue id") != std::string::npos);
    CHECK(Choice::parse(dash, {}).error() == "no queue ids on standard input"); // never: everything
}

TEST_CASE("many ids are several requests") {
    Choice choice;
    for (std::size_t n = 0; n < Choice::ids_at_a_time + 5; ++n) choice.ids.push_back("05A1B2C3D4E5F6");
    const auto requests = choice.requests({{"op", "hold"}, {"why", "x"}});
    REQUIRE(requests.size() == 2);
    CHECK(requests[0]["ids"].size() == Choice::ids_at_a_time);
    CHECK(requests[1]["ids"].size() == 5);
    CHECK(requests[1]["why"] == "x");
    CHECK(requests[0].dump().size() < 60'000);
    CHECK(!Choice().requests({{"op", "messages"}}).at(0).contains("filter"));
}

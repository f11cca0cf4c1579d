#include "daemons/postrider/command/message_selector.h"
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using postrider::MessageSelector;
using Words = std::vector<std::string>;

TEST_CASE("ids are told from filter words") {
    const Words ids = {"05A1B2C3D4E5F6", "0A1B2C3D4E5F"}, filter = {"sender=a@*", "age=+2h", "all"};
    const auto named = MessageSelector::parse(ids);
    REQUIRE(named);
    CHECK(named->ids == Words{"05A1B2C3D4E5F6", "000A1B2C3D4E5F"});
    CHECK(named->filter.empty());
    CHECK(MessageSelector::parse(filter)->filter == filter);
    CHECK(MessageSelector::parse(Words{})->selects_all());
    const Words both = {"05A1B2C3D4E5F6", "all"};
    CHECK(MessageSelector::parse(both).error().find("not by both") != std::string::npos);
}

TEST_CASE("ids from standard input") {
    const Words dash = {"-"};
    CHECK(MessageSelector::parse(dash, {"05A1B2C3D4E5F6"})->ids == Words{"05A1B2C3D4E5F6"});
    CHECK(MessageSelector::parse(dash, {"all"}).error().find("which is not a queue id") != std::string::npos);
    CHECK(MessageSelector::parse(dash, {}).error() == "no queue ids on standard input"); // never: everything
}

TEST_CASE("many ids are several requests") {
    MessageSelector selector;
    for (std::size_t n = 0; n < MessageSelector::max_ids_per_request + 5; ++n) selector.ids.push_back("05A1B2C3D4E5F6");
    const auto requests = selector.requests({{"op", "hold"}, {"reason", "x"}});
    REQUIRE(requests.size() == 2);
    CHECK(requests[0]["ids"].size() == MessageSelector::max_ids_per_request);
    CHECK(requests[1]["ids"].size() == 5);
    CHECK(requests[1]["reason"] == "x");
    CHECK(requests[0].dump().size() < 60'000);
    CHECK(!MessageSelector().requests({{"op", "messages"}}).at(0).contains("filter"));
}

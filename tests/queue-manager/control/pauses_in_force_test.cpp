#include "daemons/queue-manager/control/pauses_in_force.h"
#include <doctest/doctest.h>

using namespace queue_manager;
using decide::queue::Scope;

TEST_CASE("pauses in force: what they cover, and what is in the way of a route") {
    const smtp::Now now{smtp::Monotonic(std::chrono::seconds(1)), smtp::WallTime(std::chrono::seconds(1))};
    const decide::queue::Engine engine(decide::queue::Settings{}, 1, now);
    PausesInForce pauses;
    proto::route::Routed route;
    route.domain = "example.org";
    route.link = "mx:example.org";
    CHECK_FALSE(pauses.everything());
    CHECK(pauses.covering(Scope::queue, "example.org", engine).empty());
    CHECK(pauses.obstacles(route, engine).empty());

    const Pause queue{Scope::queue, "example.org", "ann", "their move", {}};
    pauses.replace({queue});
    CHECK_FALSE(pauses.everything());
    CHECK(pauses.covering(Scope::queue, "example.org", engine) == "queue example.org is paused by ann: their move");
    CHECK(pauses.covering(Scope::queue, "example.net", engine).empty());
    CHECK(pauses.obstacles(route, engine) ==
          std::vector<std::string>{"mail would wait: queue example.org is paused by ann: their move"});

    pauses.replace({queue, {Scope::everything, "", "root", "", {}}});
    CHECK(pauses.everything() == "everything is paused by root");
    CHECK(pauses.covering(Scope::queue, "example.net", engine) == "everything is paused by root");
    CHECK(pauses.obstacles(route, engine).size() == 2);
}

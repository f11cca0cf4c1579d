#include "daemons/maps/server_choice.h"
#include <doctest/doctest.h>

using maps::ServerChoice;
using namespace std::chrono_literals;
using Order = std::vector<std::size_t>;

namespace {

std::vector<tables::DatabaseServer> three_servers() {
    tables::DatabaseServer one, two, local;
    one.name = "one";
    two.name = "two";
    local.socket = "/run/db";
    return {one, two, local};
}

} // namespace

TEST_CASE("servers: sockets first, hosts in turn") {
    ServerChoice choice(three_servers(), 60s, 0);
    CHECK(choice.order({}) == Order{2, 0, 1});
    CHECK(choice.order({}) == Order{2, 1, 0});
}

TEST_CASE("servers: one that failed is left alone, longer each time, up to the limit") {
    ServerChoice choice({three_servers()[0]}, 4s, 0);
    ServerChoice::Time now{};
    CHECK(choice.failed(0, "refused", now));
    CHECK(choice.order(now).empty());
    CHECK(choice.problem() == "one: refused");
    for (const auto pause : {1s, 2s, 4s, 4s}) {
        CHECK(choice.order(now + pause - 1ms).empty());
        now += pause;
        CHECK(choice.order(now) == Order{0});
        CHECK_FALSE(choice.failed(0, "refused", now)); // is known
    }
    CHECK(choice.works(0));
    CHECK_FALSE(choice.works(0));
    CHECK(choice.failed(0, "refused", now));
}

#include "daemons/queue-manager/engine_driver/minutes.h"
#include "daemons/queue-manager/events/recent_changes.h"
#include <doctest/doctest.h>

using namespace queue_manager;
using namespace std::chrono_literals;

namespace {

const smtp::WallTime noon{smtp::Duration(1'790'000'000'000'000)};

std::vector<std::string> names(RecentChanges& changes, smtp::WallTime now) {
    std::vector<std::string> out;
    for (const auto& each : changes.list(now)) out.push_back(each.type + ":" + each.name);
    return out;
}

using Names = std::vector<std::string>;

} // namespace

TEST_CASE("what has changed: the latest first, once for each type, name and person, for an hour") {
    RecentChanges changes(noon);
    changes.add({.time = noon + 1min, .type = "link.failed", .name = "mx.example", .who = {}, .why = "refused"});
    changes.add({.time = noon + 2min, .type = "pause.set", .name = "everything", .who = "ann"});
    changes.add({.time = noon + 3min, .type = "link.failed", .name = "mx.example", .who = {}, .why = "timeout"});
    changes.add({.time = noon + 4min, .type = "pause.set", .name = "everything", .who = "bob"});
    const auto all = changes.list(noon + 5min);
    CHECK(names(changes, noon + 5min) ==
          Names{"pause.set:everything", "link.failed:mx.example", "pause.set:everything", "started:"});
    CHECK(all[1].count == 2);
    CHECK(all[1].why == "timeout");
    CHECK(names(changes, noon + 1h + 150s) == Names{"pause.set:everything", "link.failed:mx.example"});
    CHECK(changes.list(noon + 3h).empty());
}

TEST_CASE("entries of the suppression list are counted together") {
    RecentChanges changes(noon - 2h);
    changes.add({.time = noon, .type = "suppression.added", .name = {}, .who = {}, .why = {}, .count = 3});
    changes.add({.time = noon + 1s, .type = "suppression.added", .name = {}, .who = {}, .why = {}, .count = 4});
    REQUIRE(changes.list(noon + 2s).size() == 1);
    CHECK(changes.list(noon + 2s)[0].count == 7);
}

TEST_CASE("problems come and go") {
    RecentChanges changes(noon - 2h);
    changes.set_problems({"the disk is full"}, noon);
    changes.set_problems({"the disk is full", "no reserve"}, noon + 1s);
    changes.set_problems({"no reserve"}, noon + 2s);
    CHECK(names(changes, noon + 3s) ==
          Names{"problem.gone:the disk is full", "problem.appeared:no reserve", "problem.appeared:the disk is full"});
}

TEST_CASE("the list is bounded, and says how many earlier changes it leaves out") {
    RecentChanges changes(noon - 2h);
    for (int n = 0; n < 250; ++n)
        changes.add({.time = noon + n * 1s, .type = "link.failed", .name = std::to_string(n), .who = {}});
    CHECK(changes.list(noon + 250s).size() == RecentChanges::most);
    CHECK(changes.list(noon + 250s).front().name == "249");
    CHECK(changes.left_out() == 150);
    CHECK(changes.list(noon + 2h).empty());
    CHECK(changes.left_out() == 0);
}

TEST_CASE("counts by minute: as many as are known, for an hour at most") {
    Minutes minutes;
    const smtp::Monotonic start{1000s};
    using Counts = std::vector<std::uint32_t>;
    minutes.count(start);
    minutes.count(start + 59s, 2);
    CHECK(minutes.last_hour(start + 59s) == Counts{3});
    minutes.count(start + 60s, 5);
    CHECK(minutes.last_hour(start + 179s) == Counts{3, 5, 0});
    const auto hour = minutes.last_hour(start + 60min);
    CHECK(hour.size() == Minutes::kept);
    CHECK(hour.front() == 5);
    CHECK(hour.back() == 0);
    minutes.count(start + 60min, 7);
    CHECK(minutes.last_hour(start + 61min)[58] == 7);
    CHECK(minutes.last_hour(start + 600min) == Counts(Minutes::kept, 0)); // long ago
    minutes.count(start + 600min + 30s, 9);
    CHECK(minutes.last_hour(start + 600min + 30s).back() == 9);
}

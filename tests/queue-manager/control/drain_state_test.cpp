// What the spool remembers of a drain.
#include "daemons/queue-manager/control/drain_state.h"
#include "tests/libspool/disk/fake_disk.h"
#include <doctest/doctest.h>

using namespace queue_manager;

TEST_CASE("a drain is remembered until it is canceled") {
    spool::test::FakeDisk disk;
    CHECK_FALSE(load_drain(disk)->has_value());
    DrainState drain;
    drain.targets = {{"mx2", 7, 1}, {"mx3", 8, 0}};
    drain.filter = {"domain=example.org", "age=+1h"};
    drain.rate = 500;
    drain.who = "root";
    drain.why = "new disk";
    drain.since = smtp::WallTime(std::chrono::seconds(1'750'000'000));
    REQUIRE(save_drain(disk, drain));
    CHECK(**load_drain(disk) == drain);
    ++drain.targets[0].moved;
    REQUIRE(save_drain(disk, drain));
    disk.restart(spool::test::FakeDisk::Keep::nothing);
    CHECK(**load_drain(disk) == drain);
    REQUIRE(save_drain(disk, {}));
    CHECK_FALSE(load_drain(disk)->has_value());
    REQUIRE(save_drain(disk, {})); // once more does no harm
}

TEST_CASE("a damaged file is no drain, and not none") {
    spool::test::FakeDisk disk;
    DrainState drain;
    drain.targets = {{"mx2"}};
    REQUIRE(save_drain(disk, drain)); // without a filter
    CHECK_FALSE(load_drain(disk));
    drain.filter = {"no=such-word"}; // of another version
    REQUIRE(save_drain(disk, drain));
    CHECK_FALSE(load_drain(disk));
    drain.filter = {"all"};
    REQUIRE(save_drain(disk, drain));
    CHECK(load_drain(disk));
    auto file = disk.open("drain", spool::Open::read_write);
    REQUIRE(file);
    const std::string_view junk = "x";
    REQUIRE(disk.write(*file, 13, {&junk, 1}));
    CHECK_FALSE(load_drain(disk));
}

#include "daemons/queue-manager/control/pauses.h"
#include "tests/libspool/disk/fake_disk.h"
#include <doctest/doctest.h>

using namespace queue_manager;
using decide::queue::Scope;

TEST_CASE("pauses: kept over a power cut, damage is told") {
    spool::test::FakeDisk disk;
    CHECK(load_pauses(disk)->empty());
    const Pauses all = {{Scope::everything, "", "root", "moving house", smtp::WallTime(smtp::Duration(5))},
                        {Scope::link, "[relay]:25", "ann", "", smtp::WallTime(smtp::Duration(6))}};
    REQUIRE(save(disk, all));
    disk.restart(spool::test::FakeDisk::Keep::nothing);
    CHECK(*load_pauses(disk) == all);
    REQUIRE(save(disk, {all[1]}));
    disk.restart(spool::test::FakeDisk::Keep::nothing);
    CHECK(*load_pauses(disk) == Pauses{all[1]});
    REQUIRE(save(disk, {}));
    CHECK(load_pauses(disk)->empty());
    {
        auto file = disk.open("pauses", spool::Open::read_write);
        REQUIRE(file);
        const std::string_view one = "X";
        REQUIRE(disk.write(*file, 3, {&one, 1}));
    }
    CHECK_FALSE(load_pauses(disk));
    CHECK(find(all, Scope::link, "[relay]:25")->who == "ann");
    CHECK(find(all, Scope::queue, "[relay]:25") == nullptr);
    CHECK(scope_of(word_of(Scope::pool)) == Scope::pool);
    CHECK_FALSE(scope_of("world"));
}

#include "libspool/disk/durable_file.h"
#include "tests/libspool/disk/fake_disk.h"
#include <cerrno>
#include <doctest/doctest.h>

using namespace spool;
using namespace spool::test;
using Keep = FakeDisk::Keep;

namespace {

constexpr Keep every_keep[] = {Keep::nothing, Keep::names_without_data, Keep::everything, Keep::by_seed};

void make_state_with(FakeDisk& disk, const std::string& content) {
    REQUIRE(disk.make_directory("state", 0700));
    REQUIRE(disk.sync(*disk.open(".", Open::directory)));
    REQUIRE(replace_durably(disk, "state/limits", content));
}

} // namespace

TEST_CASE(
    "a file that is replaced is the old or the new one whenever the power goes, and the new one once it is said") {
    const std::string old_content(5000, 'o'), new_content(300, 'n');
    for (const auto keep : every_keep)
        for (std::uint64_t n = 0;; ++n) {
            CAPTURE(n);
            FakeDisk disk;
            make_state_with(disk, old_content);
            disk.cut_power_after(n);
            const bool done = replace_durably(disk, "state/limits", new_content).has_value();
            disk.restart(keep, n);
            const auto found = disk.contents("state/limits");
            CHECK((found == new_content || (!done && found == old_content)));
            REQUIRE(replace_durably(disk, "state/limits", "again")); // whatever was left of the first attempt
            CHECK(disk.contents("state/limits") == "again");
            if (done) break;
        }
}

TEST_CASE("a file that is removed is whole or gone whenever the power goes, and gone once it is said") {
    for (const auto keep : every_keep)
        for (std::uint64_t n = 0;; ++n) {
            CAPTURE(n);
            FakeDisk disk;
            make_state_with(disk, "content");
            disk.cut_power_after(n);
            const bool done = remove_durably(disk, "state/limits").has_value();
            disk.restart(keep, n);
            CHECK((!disk.exists("state/limits") || (!done && disk.contents("state/limits") == "content")));
            if (done) break;
        }
}

TEST_CASE("what fails is said, and the old content stays") {
    for (std::uint64_t n = 0;; ++n) {
        FakeDisk disk;
        make_state_with(disk, "old");
        disk.fail_after(n, ENOSPC);
        const auto before = disk.operations();
        const auto done = replace_durably(disk, "state/limits", "new");
        if (done) break;
        CHECK(done.error().code == ENOSPC);
        if (disk.operations() - before < 4) CHECK(disk.contents("state/limits") == "old");
        CHECK_FALSE(disk.synced_after_failure());
    }
}

TEST_CASE("a file that is not there is removed without an error, and one at the top is replaced as any other") {
    FakeDisk disk;
    CHECK(remove_durably(disk, "pauses"));
    REQUIRE(replace_durably(disk, "pauses", "all"));
    CHECK(disk.contents("pauses") == "all");
    REQUIRE(remove_durably(disk, "pauses"));
    CHECK_FALSE(disk.exists("pauses"));
}

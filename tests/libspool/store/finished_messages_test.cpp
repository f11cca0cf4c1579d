// index/finished: what it names after a restart, a power cut, a failing disk; and that it names nothing else.
#include "libspool/store/finished_messages.h"
#include "libspool/store/store.h"
#include "tests/libspool/disk/fake_disk.h"
#include <doctest/doctest.h>

using namespace spool;
using spool::test::FakeDisk;

namespace {

constexpr std::size_t few = 100; // entries

QueueId id(std::uint64_t n) { return QueueId{n << 8 | 7}; }

FinishedIndex reopened(FakeDisk& disk) {
    FinishedMessages messages(disk, few);
    auto index = messages.open();
    REQUIRE(index);
    return *std::move(index);
}

} // namespace

TEST_CASE("what was written is named after a power cut, what was only added is not") {
    FakeDisk disk;
    REQUIRE(prepare_spool(disk, {7}));
    FinishedMessages messages(disk, few);
    REQUIRE(messages.open());
    messages.add({id(1), 11});
    CHECK(messages.has_unwritten());
    REQUIRE(messages.write());
    CHECK_FALSE(messages.has_unwritten());
    messages.add({id(2), 22});
    disk.restart(FakeDisk::Keep::nothing);
    const auto index = reopened(disk);
    CHECK(index.contains(id(1), 11));
    CHECK_FALSE(index.contains(id(1), 12)); // another message of this id, from a restored spool
    CHECK_FALSE(index.contains(id(2), 22));
    CHECK(index.size() == 1);
}

TEST_CASE("the oldest entries give way to new ones, also over a restart in the middle") {
    FakeDisk disk;
    REQUIRE(prepare_spool(disk, {7}));
    constexpr auto all = few;
    {
        FinishedMessages messages(disk, few);
        REQUIRE(messages.open());
        for (std::uint64_t n = 1; n <= all - 2; ++n) messages.add({id(n), 1});
        REQUIRE(messages.write());
    }
    FinishedMessages messages(disk, few);
    REQUIRE(messages.open());
    for (std::uint64_t n = all - 1; n <= all + 10; ++n) messages.add({id(n), 1}); // over the end of the file
    REQUIRE(messages.write());
    const auto index = reopened(disk);
    CHECK(index.size() == all);
    CHECK_FALSE(index.contains(id(10), 1));
    CHECK(index.contains(id(11), 1));
    CHECK(index.contains(id(all + 10), 1));
}

TEST_CASE("a file that is damaged or cut short names what can still be read, or is made again") {
    FakeDisk disk;
    REQUIRE(prepare_spool(disk, {7}));
    {
        FinishedMessages messages(disk, few);
        REQUIRE(messages.open());
        for (std::uint64_t n = 1; n <= 3; ++n) messages.add({id(n), 1});
        REQUIRE(messages.write());
    }
    auto bytes = disk.contents("index/finished");
    bytes[2 * FinishedMessages::entry_size + 3] ^= 1; // of the second entry
    disk.set_contents("index/finished", bytes);
    const auto index = reopened(disk);
    CHECK(index.contains(id(1), 1));
    CHECK_FALSE(index.contains(id(2), 1));
    CHECK(index.contains(id(3), 1));
    disk.set_contents("index/finished", bytes.substr(0, 1000)); // not a number of entries
    CHECK(reopened(disk).size() == 0);
    CHECK(disk.contents("index/finished").size() == bytes.size());
}

TEST_CASE("a failing disk ends its use, and nothing else") {
    FakeDisk disk;
    REQUIRE(prepare_spool(disk, {7}));
    FinishedMessages messages(disk, few);
    REQUIRE(messages.open());
    messages.add({id(1), 1});
    disk.fail_after(1, EIO); // the sync
    CHECK_FALSE(messages.write());
    messages.add({id(2), 1});
    CHECK_FALSE(messages.has_unwritten());
    CHECK(messages.write()); // nothing to do
    CHECK_FALSE(disk.synced_after_failure());
}

TEST_CASE("a small disk gets a small file, and it keeps its size") {
    FakeDisk disk;
    REQUIRE(prepare_spool(disk, {7}));
    disk.free.bytes_total = 1u << 20;
    REQUIRE(FinishedMessages(disk).open());
    CHECK(disk.contents("index/finished").size() == FinishedMessages::fewest_entries * FinishedMessages::entry_size);
    disk.free.bytes_total = std::uint64_t{1} << 40;
    REQUIRE(FinishedMessages(disk).open());
    CHECK(disk.contents("index/finished").size() == FinishedMessages::fewest_entries * FinishedMessages::entry_size);
}

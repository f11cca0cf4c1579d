#include "libspool/message/message_writer.h"
#include "libspool/store/queue_id_source.h"
#include "libspool/store/recovery.h"
#include "libspool/store/store.h"
#include "tests/libspool/disk/fake_disk.h"
#include <doctest/doctest.h>
#include <set>

using namespace spool;
using spool::test::FakeDisk;
using namespace std::chrono_literals;

namespace {
constexpr smtp::WallTime noon{1'750'000'000s};
}

TEST_CASE("ids rise by the clock and never fall with it") {
    FakeDisk disk;
    auto ids = QueueIdSource::open(disk, 5, noon);
    REQUIRE(ids);
    QueueId last;
    const smtp::Duration steps[] = {0us, 1us, 16us, -5s, 1h, -365 * 24h, 0us, 365 * 24h, -365 * 24h, 0us};
    auto now = noon;
    for (const auto step : steps) {
        now += step;
        for (int n = 0; n < 3; ++n) {
            const auto id = (*ids)->next(now);
            REQUIRE(id);
            CHECK(*id > last);
            CHECK(id->slot() == 5);
            last = *id;
        }
    }
    CHECK(time_of(*(*ids)->next(noon + 400 * 24h)) <= noon + 400 * 24h);
    CHECK(time_of(*(*ids)->next(noon + 401 * 24h)) > noon + 401 * 24h - 1ms);
}

TEST_CASE("ids are unique over deaths and clocks that step back") {
    FakeDisk disk;
    std::set<std::uint64_t> seen;
    for (int life = 0; life < 10; ++life) {
        auto ids = QueueIdSource::open(disk, 5, noon - life * 1h);
        REQUIRE(ids);
        for (int n = 0; n < 100; ++n) CHECK(seen.insert((*ids)->next(noon - life * 1h)->value).second);
        ids->reset();
        disk.restart(FakeDisk::Keep::nothing);
    }
}

TEST_CASE("one writer to a slot; a damaged mark is an error, not a fresh start") {
    FakeDisk disk;
    {
        auto first = QueueIdSource::open(disk, 5, noon);
        REQUIRE(first);
        const auto second = QueueIdSource::open(disk, 5, noon);
        REQUIRE_FALSE(second);
        CHECK(second.error().code == EAGAIN);
        CHECK(QueueIdSource::open(disk, 6, noon));
    }
    auto bytes = disk.contents("incoming/05/writer");
    for (auto& c : bytes) c = static_cast<char>(c ^ 0x55);
    disk.set_contents("incoming/05/writer", bytes);
    const auto damaged = QueueIdSource::open(disk, 5, noon);
    REQUIRE_FALSE(damaged);
    CHECK(damaged.error().code == EBADMSG);
}

TEST_CASE("the clock beyond what an id can hold is an error") {
    FakeDisk disk;
    auto ids = QueueIdSource::open(disk, 5, noon);
    REQUIRE(ids);
    CHECK_FALSE((*ids)->next(noon + std::chrono::years(200)));
    CHECK((*ids)->next(noon));
}

namespace {
QueueId put(FakeDisk& disk, QueueIdSource& ids) {
    CommitPool pool(disk, 0, {});
    auto directory = SharedDirectory::open(disk, "incoming/05");
    Envelope envelope;
    envelope.recipients.emplace_back().address = "a@b";
    MessageWriter writer(pool, **directory, *ids.next(noon), envelope);
    const auto id = writer.queue_id();
    writer.append("a: b\r\n\r\nc\r\n");
    writer.commit([](auto) {});
    pool.drain();
    return id;
}
std::set<QueueId> look(FakeDisk& disk) {
    std::set<QueueId> found;
    auto scan = RecoveryScan::writer(disk, 5);
    while (!scan.finished())
        for (const auto& one : scan.step().found) found.insert(one.id);
    return found;
}
} // namespace

TEST_CASE("a writer's whole files are found, living or dead; what a living one has not finished is left alone") {
    FakeDisk disk;
    REQUIRE(prepare_spool(disk, {}));
    auto ids = QueueIdSource::open(disk, 5, noon);
    REQUIRE(ids);
    const auto first = put(disk, **ids);
    CHECK(look(disk) == std::set{first}); // perhaps a queue-manager took it over, and died
    const auto unfinished = path_of(*(*ids)->next(noon), Location::incoming);
    REQUIRE(disk.open(unfinished, Open::create));
    CHECK(look(disk) == std::set{first});
    CHECK(disk.open(unfinished, Open::read));
    ids->reset(); // dies
    CHECK(look(disk) == std::set{first});
    CHECK(!disk.open(unfinished, Open::read));
    auto successor = QueueIdSource::open(disk, 5, noon - 1h);
    REQUIRE(successor);
    const auto second = put(disk, **successor);
    CHECK(look(disk) == std::set{first, second});
    successor->reset();
    CHECK(look(disk) == std::set{first, second});
}

// What operators remove and bring back, while the power goes.
#include "libspool/message/message_reader.h"
#include "libspool/message/message_writer.h"
#include "libspool/store/queue_id_source.h"
#include "libspool/store/store.h"
#include "tests/libspool/disk/fake_disk.h"
#include <cerrno>
#include <doctest/doctest.h>
#include <optional>

using namespace spool;
using spool::test::FakeDisk;
using spool::test::power_cuts;
using Keep = FakeDisk::Keep;

namespace {

constexpr smtp::WallTime morning{std::chrono::seconds(1'750'000'000)};

} // namespace

TEST_CASE("what was removed is in removed/ or back in the queue, whenever the power goes; once promised, it is back") {
    for (const auto& how : power_cuts)
        for (std::uint64_t n = 0;; ++n) {
            FakeDisk disk;
            REQUIRE(prepare_spool(disk, {7}));
            CommitPool pool(disk, 0, {});
            auto ids = QueueIdSource::open(disk, 7, morning);
            auto directory = SharedDirectory::open(disk, "incoming/07");
            const auto id = *(*ids)->next(morning);
            Envelope envelope;
            envelope.recipients = {{.address = "a@x.example"}, {.address = "b@x.example"}};
            MessageWriter writer(pool, **directory, id, envelope);
            writer.append("a: b\r\n\r\n");
            writer.commit([](Result<DurableReceipt> r) { REQUIRE(r); });
            pool.drain();
            Store store(pool);
            const auto settled = [&](auto&& ask) {
                std::optional<Result<>> outcome;
                ask([&](Result<> done) { outcome = std::move(done); });
                while (!outcome) {
                    store.flush();
                    pool.drain();
                }
                return *outcome;
            };
            REQUIRE(settled([&](auto done) { store.take_over(id, std::move(done)); }));
            REQUIRE(settled([&](auto done) {
                store.append(id, Location::messages,
                             {StatusChanged{{0}, Status::delivered, morning, {}, "x"},
                              StatusChanged{{1}, Status::removed, morning, {}, "x"}},
                             Sync::yes, std::move(done));
            }));
            REQUIRE(settled([&](auto done) { store.move_to_removed(id, Location::messages, std::move(done)); }));
            CHECK(disk.exists(path_of_removed(id)));
            for (const char* name : {"messages", "removed"}) // it has lain there for a while
                (void)disk.sync(*disk.open(
                    name == std::string("messages") ? directory_of(id, Location::messages) : name, Open::directory));
            disk.cut_power_after(n);
            const bool promised =
                settled([&](auto done) { store.restore(id, "x", morning, std::move(done)); }).has_value();
            const bool whole = !disk.power_is_off();
            disk.restart(how.keep, how.seed);
            CAPTURE(n);
            auto back = MessageReader::open(disk, id, Location::messages);
            CHECK((back || disk.exists(path_of_removed(id))));
            if (promised) REQUIRE(back);
            if (back) {
                CHECK(back->state().recipients[0].status == Status::delivered);
                CHECK(back->state().recipients[1].status == Status::pending);
                CHECK(*back->read_content() == "a: b\r\n\r\n");
            }
            if (whole) {
                CHECK(promised);
                break;
            }
        }
}

TEST_CASE("nothing is brought back that is not there") {
    FakeDisk disk;
    REQUIRE(prepare_spool(disk, {7}));
    CommitPool pool(disk, 0, {});
    Store store(pool);
    std::optional<Result<>> outcome;
    store.restore(QueueId{0x107}, "x", morning, [&](Result<> done) { outcome = std::move(done); });
    while (!outcome) {
        store.flush();
        pool.drain();
    }
    REQUIRE_FALSE(*outcome);
    CHECK(outcome->error().code == ENOENT);
}

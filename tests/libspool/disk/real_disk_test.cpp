// The spool on the file system of this machine, with threads, locks and links as they really are.
#include "libspool/disk/file_system.h"
#include "libspool/disk/real_disk.h"
#include "libspool/disk/reserve.h"
#include "libspool/message/message_reader.h"
#include "libspool/message/message_writer.h"
#include "libspool/store/queue_id_source.h"
#include "libspool/store/recovery.h"
#include "libspool/store/store.h"
#include "tests/libspool/disk/waker.h"
#include "tests/temporary_directory.h"
#include <chrono>
#include <doctest/doctest.h>
#include <filesystem>
#include <fmt/format.h>
#include <set>
#include <thread>
#include <unistd.h>

using namespace spool;
using spool::test::Waker;

namespace {

constexpr smtp::WallTime noon{std::chrono::seconds(1'750'000'000)};

struct Place {
    Place() {
        disk = std::move(*RealDisk::open_at(path));
        REQUIRE(prepare_spool(*disk, {1}));
    }
    TemporaryDirectory temporary;
    const std::string path = temporary.path();
    std::unique_ptr<RealDisk> disk;
};

std::string content_of(int n, std::size_t size) {
    auto text = fmt::format("Subject: {}\r\n\r\n", n);
    while (text.size() < size) text += fmt::format("line of {}\r\n", n);
    return text;
}

} // namespace

TEST_CASE("real disk: many messages side by side, taken over, marked, found again") {
    Place place;
    Waker waker;
    CommitPool pool(*place.disk, 16, [&] { waker.wake(); });
    auto ids = QueueIdSource::open(*place.disk, 1, noon, &pool);
    auto directory = SharedDirectory::open(*place.disk, "incoming/01");
    REQUIRE(ids);
    std::vector<std::pair<QueueId, std::string>> messages;
    int promised = 0;
    for (int n = 0; n < 300; ++n) {
        Envelope envelope;
        envelope.reverse_path = fmt::format("s{}@example.org", n);
        envelope.recipients.emplace_back().address = "r@example.net";
        MessageWriter writer(pool, **directory, *(*ids)->next(noon + std::chrono::seconds(n)), envelope,
                             {.max_buffered = 20'000, .piece = 10'000});
        messages.emplace_back(writer.queue_id(), content_of(n, n % 10 == 0 ? 70'000 : 4'000));
        const std::string_view all = messages.back().second;
        for (std::size_t at = 0; at < all.size(); at += 3'000) writer.append(all.substr(at, 3'000));
        writer.commit([&, id = writer.queue_id(), size = all.size()](Result<DurableReceipt> receipt) {
            REQUIRE(receipt);
            CHECK(receipt->queue_id() == id);
            CHECK(receipt->size() == size);
            ++promised;
        });
    }
    while (promised < 300) {
        waker.wait();
        pool.drain();
    }
    CHECK(pool.file_syncs() == 300);

    Store store(pool);
    int removed = 0, appended = 0;
    for (std::size_t n = 0; n < messages.size(); ++n) {
        const auto id = messages[n].first;
        if (n % 3 == 0) {
            store.remove(id, Location::incoming, [&](Result<> r) { removed += r.has_value(); });
            continue;
        }
        store.take_over(id);
        for (std::uint32_t k = 1; k <= 3; ++k) // in order, though on many threads
            store.append(id, Location::incoming, {Rescheduled{{0}, noon, k}}, k == 2 ? Sync::yes : Sync::no,
                         [&](Result<> r) { appended += r.has_value(); });
    }
    store.flush();
    while (store.outstanding() > 0) {
        waker.wait();
        pool.drain();
    }
    CHECK(removed == 100);
    CHECK(appended == 600);

    ids->reset();
    std::set<QueueId> found;
    auto scan = RecoveryScan::everything(*place.disk);
    while (!scan.finished()) {
        auto batch = scan.step();
        CHECK(batch.errors.empty());
        CHECK(batch.quarantined.empty());
        for (const auto& one : batch.found) {
            CHECK(one.state.recipients.at(0).failures == 3);
            CHECK_FALSE(one.in_flight);
            found.insert(one.id);
        }
    }
    CHECK(found.size() == 200);
    for (std::size_t n = 0; n < messages.size(); ++n) {
        auto reader = MessageReader::open(*place.disk, messages[n].first, Location::incoming);
        REQUIRE(reader.has_value() == (n % 3 != 0));
        if (!reader) {
            CHECK(std::get<Error>(reader.error()).code == ENOENT);
            continue;
        }
        CHECK(reader->file().location == Location::messages);
        CHECK(reader->is_small() == (n % 10 != 0));
        CHECK(reader->read_content() == messages[n].second);
        CHECK(reader->read_header() == fmt::format("Subject: {}\r\n", n));
        if (n == 1) { // held by an agent: not for dispatch
            auto again = RecoveryScan::everything(*place.disk);
            bool in_flight = false;
            while (!again.finished())
                for (const auto& one : again.step().found)
                    if (one.id == messages[n].first) in_flight = one.in_flight;
            CHECK(in_flight);
        }
    }
}

TEST_CASE("real disk: links are not followed, names are not overwritten") {
    Place place;
    auto& disk = *place.disk;
    std::filesystem::create_symlink("/etc/passwd", place.path + "/incoming/01/link");
    CHECK_FALSE(disk.open("incoming/01/link", Open::read));
    CHECK_FALSE(disk.open("incoming/01/link", Open::upsert));
    {
        CHECK(disk.open("incoming/01/file", Open::create));
    }
    const auto twice = disk.open("incoming/01/file", Open::create);
    REQUIRE_FALSE(twice);
    CHECK(twice.error().code == EEXIST);
}

TEST_CASE("real disk: a second writer's lock waits in vain, a reader sees the time") {
    Place place;
    auto first = QueueIdSource::open(*place.disk, 1, noon);
    REQUIRE(first);
    CHECK_FALSE(QueueIdSource::open(*place.disk, 1, noon));
    CHECK(time_of(*(*first)->next(noon)) >= noon);
}

TEST_CASE("real disk: the reserve is held, given up, taken back") {
    Place place;
    auto reserve = Reserve::open(*place.disk, 3 << 20);
    REQUIRE(reserve);
    CHECK(reserve->held() == 3 << 20);
    CHECK(*reserve->release(1 << 20));
    CHECK(reserve->held() == 2 << 20);
    CHECK(*reserve->release(5 << 20));
    CHECK_FALSE(*reserve->release(1));
    CHECK(reserve->restore());
    CHECK(reserve->held() == 3 << 20);
    CHECK(std::filesystem::file_size(place.path + "/index/reserve") == 3 << 20);
}

TEST_CASE("room: floors of space and files") {
    const Floor floor{1000, 10};
    CHECK(check_free_space({5000, 9000, 50, 100}, floor, 4000) == FreeSpace::enough);
    CHECK(check_free_space({5000, 9000, 50, 100}, floor, 4001) == FreeSpace::no_space);
    CHECK(check_free_space({500, 9000, 50, 100}, floor, 0) == FreeSpace::no_space);
    CHECK(check_free_space({5000, 9000, 9, 100}, floor, 1) == FreeSpace::no_files);
    CHECK(check_free_space({5000, 9000, 0, 0}, floor, 1) == FreeSpace::enough);
}

TEST_CASE("file systems are told apart by what a sync is worth there") {
    CHECK(file_system_of(0xEF53).name == "ext4");
    CHECK(file_system_of(0xEF53).warning.empty());
    CHECK(file_system_of(0x01021994).durability == Durability::none);
    CHECK(file_system_of(0x794C7630).warning.find("overlayfs") != std::string::npos);
    CHECK(file_system_of(0x6969).durability == Durability::weak);
    CHECK(file_system_of(0x123).name == "0x123");
    CHECK(file_system_of(0x123).durability == Durability::likely);
}

TEST_CASE("recovery puts aside what is no message, with the reason beside it") {
    Place place;
    auto& disk = *place.disk;
    const auto write = [&](const std::string& path, std::string_view bytes) {
        auto file = disk.open(path, Open::create);
        REQUIRE(file);
        REQUIRE(disk.write(*file, 0, {&bytes, 1}));
    };
    write("incoming/01/00000000012301", "");
    write("messages/00/00000000012302", "garbage");
    write("messages/00/README", "not ours");
    std::size_t incomplete = 0, damaged = 0, errors = 0;
    auto scan = RecoveryScan::everything(disk);
    while (!scan.finished()) {
        const auto batch = scan.step();
        for (const auto& one : batch.quarantined) ++(one.incomplete ? incomplete : damaged);
        errors += batch.errors.size();
    }
    CHECK(incomplete == 1);
    CHECK(damaged == 1);
    CHECK(errors == 1);
    CHECK(std::filesystem::exists(place.path + "/quarantine/incomplete/00000000012301"));
    CHECK(std::filesystem::exists(place.path + "/quarantine/00000000012302.why"));
    CHECK(std::filesystem::exists(place.path + "/messages/00/README"));
}

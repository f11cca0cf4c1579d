// The spool read at start, many directories side by side, on a disk that can be stopped at any operation.
#include "daemons/queue-manager/spool/spool_scanner.h"
#include "libspool/message/message_reader.h"
#include "libspool/message/message_writer.h"
#include "libspool/store/queue_id_source.h"
#include "libspool/store/store.h"
#include "tests/libspool/disk/fake_disk.h"
#include "tests/libspool/disk/waker.h"
#include <algorithm>
#include <doctest/doctest.h>
#include <map>

using namespace queue_manager;
using spool::Location;
using spool::QueueId;
using spool::test::FakeDisk;
using Keep = FakeDisk::Keep;

namespace {

constexpr smtp::WallTime morning{std::chrono::seconds(1'750'000'000)};

// What a whole message's file holds.
std::string file_of(FakeDisk& disk, spool::QueueIdSource& ids, spool::SharedDirectory& directory, QueueId& id) {
    id = *ids.next(morning);
    spool::CommitPool pool(disk, 0, {});
    spool::Envelope envelope;
    envelope.reverse_path = "ann@example.org";
    envelope.recipients = {{.address = "ben@example.net"}};
    spool::MessageWriter writer(pool, directory, id, envelope);
    writer.append("Subject: one of many\r\n\r\nHello.\r\n");
    writer.commit([](spool::Result<spool::DurableReceipt> receipt) { REQUIRE(receipt); });
    pool.drain();
    return disk.contents(spool::path_of(id, Location::incoming));
}

// A spool as a crash may leave it: most messages in messages/, some still in incoming/, one file each that was never
// finished, is damaged, or was moved by hand to where it does not belong.
struct Spool {
    explicit Spool(std::size_t messages) {
        REQUIRE(prepare_spool(disk, {7}));
        auto ids = std::move(*spool::QueueIdSource::open(disk, 7, morning));
        auto directory = std::move(*spool::SharedDirectory::open(disk, "incoming/07"));
        for (std::size_t n = 0; n < messages; ++n) {
            QueueId id;
            auto bytes = file_of(disk, *ids, *directory, id);
            const auto left = spool::path_of(id, Location::incoming);
            good.push_back(id);
            if (n % 10 == 0) continue; // not taken over yet
            REQUIRE(disk.unlink(left));
            if (n == 5) misplaced = id;
            disk.set_contents(n == 5 ? "messages/ff/" + id.text() : spool::path_of(id, Location::messages), bytes);
        }
        QueueId id;
        auto bytes = file_of(disk, *ids, *directory, id);
        disk.set_contents(spool::path_of(id, Location::incoming), bytes.substr(0, bytes.size() / 2));
        never_finished = id;
        bytes = file_of(disk, *ids, *directory, id);
        REQUIRE(disk.unlink(spool::path_of(id, Location::incoming)));
        bytes[200] ^= 1; // in its envelope
        disk.set_contents(spool::path_of(id, Location::messages), bytes);
        damaged = id;
        disk.restart(Keep::everything);
    }

    FakeDisk disk;
    std::vector<QueueId> good; // in the order of their ids
    // Where it lies, for those that lie where they belong.
    spool::SnapshotMessage place(QueueId id) const {
        const bool incoming = disk.exists(spool::path_of(id, Location::incoming));
        return {id, incoming ? Location::incoming : Location::messages};
    }

    QueueId misplaced, never_finished, damaged;
};

spool::SnapshotMessage other_place(spool::SnapshotMessage of) {
    return {of.id, of.location == Location::incoming ? Location::messages : Location::incoming};
}

// One start: everything that the loader says.
struct Load {
    Load(spool::Disk& disk, unsigned threads, std::vector<QueueId> finished = {},
         std::vector<spool::SnapshotMessage> first = {}) {
        spool::test::Waker waker;
        spool::CommitPool pool(disk, threads, [&] { waker.wake(); });
        SpoolScanner loader(pool,
                            {[this](spool::Found&& found) { this->found.push_back(std::move(found)); },
                             [this](const spool::QuarantinedFile& each) { aside.push_back(each); },
                             [this](const spool::Error& error) { unreadable.push_back(error); }, [this] { ++ended; }});
        for (const auto id : finished) loader.finished(id);
        loader.load_everything(std::move(first));
        while (loader.loading()) {
            waker.wait();
            pool.drain();
        }
        CHECK(ended == 1);
    }

    // What was found. A file that recovery itself has moved to its directory may be met there again.
    std::vector<QueueId> ids(QueueId misplaced = {}) const {
        std::vector<QueueId> out;
        for (const auto& each : found)
            if (each.id != misplaced || std::ranges::count(out, misplaced) == 0) out.push_back(each.id);
        std::ranges::sort(out);
        return out;
    }

    std::vector<spool::Found> found;
    std::vector<spool::QuarantinedFile> aside;
    std::vector<spool::Error> unreadable;
    int ended = 0;
};

} // namespace

TEST_CASE("loading side by side: every message once, whatever lies between them") {
    for (const unsigned threads : {0u, 1u, 2u, 16u}) {
        CAPTURE(threads);
        Spool spool(200);
        const Load load(spool.disk, threads);
        CHECK(load.ids(spool.misplaced) == spool.good);
        CHECK(load.unreadable.empty());
        REQUIRE(load.aside.size() == 2);
        const auto incomplete = load.aside[0].incomplete ? 0 : 1;
        CHECK(load.aside[incomplete].to == "quarantine/incomplete/" + spool.never_finished.text());
        CHECK_FALSE(load.aside[1 - incomplete].incomplete);
        CHECK(load.aside[1 - incomplete].to == "quarantine/" + spool.damaged.text());
        for (const auto& each : load.found) {
            CHECK_FALSE(each.in_flight);
            CHECK(each.state.envelope.reverse_path == "ann@example.org");
            CHECK(spool.disk.exists(spool::path_of(each.id, each.location)));
        }
    }
}

TEST_CASE("the order of loading: incoming/ first, and in a directory the oldest message") {
    Spool spool(100);
    const Load load(spool.disk, 0);
    std::map<std::string, QueueId> last;
    bool messages = false;
    for (const auto& each : load.found) {
        messages = messages || each.location == Location::messages;
        CHECK((each.location == Location::messages) == messages);
        if (each.id == spool.misplaced) continue;
        auto& before = last[spool::directory_of(each.id, each.location)];
        CHECK(before < each.id);
        before = each.id;
    }
    CHECK(messages);
}

TEST_CASE("the power goes at any operation of a load: the next one finds every message") {
    std::uint64_t operations;
    {
        Spool spool(30);
        const auto before = spool.disk.operations();
        const Load load(spool.disk, 4);
        operations = spool.disk.operations() - before;
    }
    CHECK(operations > 3); // two put aside with their reasons, one moved to where it belongs
    for (std::uint64_t n = 0; n <= operations; ++n)
        for (const auto keep : {Keep::nothing, Keep::everything, Keep::by_seed}) {
            CAPTURE(n);
            Spool spool(30);
            spool.disk.cut_power_after(n);
            const Load cut(spool.disk, 4);
            CHECK(cut.ids(spool.misplaced).size() <= spool.good.size());
            spool.disk.restart(keep, n);
            const Load load(spool.disk, 4);
            CHECK(load.ids(spool.misplaced) == spool.good);
            CHECK(load.unreadable.empty());
            CHECK(spool.disk.exists("quarantine/" + spool.damaged.text()));
            CHECK(spool.disk.exists("quarantine/incomplete/" + spool.never_finished.text()));
        }
}

TEST_CASE("a message that an agent still delivers is loaded as in flight") {
    Spool spool(20);
    const auto agent = spool::MessageReader::open(spool.disk, spool.good[3], Location::messages);
    REQUIRE(agent);
    const Load load(spool.disk, 4);
    CHECK(load.ids(spool.misplaced) == spool.good);
    for (const auto& each : load.found) CHECK(each.in_flight == (each.id == spool.good[3]));
}

TEST_CASE("what a living writer is writing is left alone, what it has finished is loaded") {
    Spool spool(20);
    const auto ids = std::move(*spool::QueueIdSource::open(spool.disk, 7, morning + std::chrono::hours(1)));
    const auto directory = std::move(*spool::SharedDirectory::open(spool.disk, "incoming/07"));
    QueueId whole, half;
    file_of(spool.disk, *ids, *directory, whole);
    const auto bytes = file_of(spool.disk, *ids, *directory, half);
    spool.disk.set_contents(spool::path_of(half, Location::incoming), bytes.substr(0, bytes.size() / 2));
    const Load load(spool.disk, 4);
    spool.good.push_back(whole);
    CHECK(load.ids(spool.misplaced) == spool.good);
    CHECK(spool.disk.exists(spool::path_of(half, Location::incoming)));
    for (const auto& each : load.aside) CHECK(each.from != spool::path_of(half, Location::incoming));
}

TEST_CASE("a scan that is quicker than the message's writer: what the writer tells afterwards is no news") {
    Spool spool(20);
    const auto ids = std::move(*spool::QueueIdSource::open(spool.disk, 7, morning + std::chrono::hours(1)));
    const auto directory = std::move(*spool::SharedDirectory::open(spool.disk, "incoming/07"));
    QueueId durable, later;
    file_of(spool.disk, *ids, *directory, durable);
    spool::CommitPool pool(spool.disk, 0, {});
    std::vector<QueueId> found;
    SpoolScanner loader(
        pool, {[&](spool::Found&& each) { found.push_back(each.id); }, [](const spool::QuarantinedFile&) {}, {}, {}});
    loader.load_writer(7);
    pool.drain();
    CHECK(std::ranges::count(found, durable) == 1);
    loader.finished(durable); // delivered at once; the file is about to be removed
    CHECK(loader.found_already(durable));
    CHECK_FALSE(loader.found_already(durable)); // told once
    file_of(spool.disk, *ids, *directory, later);
    CHECK_FALSE(loader.found_already(later));         // no scan has seen it
    CHECK_FALSE(loader.found_already(spool.good[0])); // its writer has died: nobody will tell
    loader.load_writer(7);
    pool.drain();
    loader.writer_left(7);
    CHECK_FALSE(loader.found_already(later));
}

TEST_CASE("a message that is finished while the spool is read does not come back") {
    Spool spool(20);
    const Load load(spool.disk, 4, {spool.good[1], spool.good[10]});
    std::erase(spool.good, spool.good[10]);
    std::erase(spool.good, spool.good[1]);
    CHECK(load.ids(spool.misplaced) == spool.good);
}

TEST_CASE("damaged files of one name in two directories are both kept") {
    FakeDisk disk;
    REQUIRE(prepare_spool(disk, {}));
    const std::string name = "00000000012302";
    for (const char* directory : {"messages/00/", "messages/01/", "messages/fe/", "messages/ff/"})
        disk.set_contents(directory + name, std::string("damaged in ") + directory);
    const Load load(disk, 16);
    CHECK(load.aside.size() == 4);
    std::vector<std::string> kept;
    for (const auto& each : load.aside) kept.push_back(disk.contents(each.to));
    std::ranges::sort(kept);
    CHECK(std::ranges::unique(kept).empty());
}

TEST_CASE("the messages due next come before all others, in their order, and once") {
    for (const unsigned threads : {0u, 1u, 16u}) {
        CAPTURE(threads);
        Spool spool(200);
        std::vector<spool::SnapshotMessage> first;
        for (const std::size_t n : {199, 0, 7, 150, 42, 10, 3}) first.push_back(spool.place(spool.good[n]));
        const Load load(spool.disk, threads, {}, first);
        REQUIRE(load.found.size() >= first.size());
        for (std::size_t n = 0; n < first.size(); ++n) {
            CHECK(load.found[n].id == first[n].id);
            CHECK(load.found[n].location == first[n].location);
            CHECK(load.found[n].state.envelope.recipients.at(0).address == "ben@example.net");
        }
        CHECK(load.ids(spool.misplaced) == spool.good);
        CHECK(load.aside.size() == 2);
        CHECK(load.unreadable.empty());
    }
}

TEST_CASE("many that are due next, on as many threads as there are: all of them before the first other one") {
    for (const unsigned threads : {0u, 1u, 16u}) {
        CAPTURE(threads);
        Spool spool(300);
        std::vector<spool::SnapshotMessage> first;
        for (std::size_t n = 300; n-- > 200;) first.push_back(spool.place(spool.good[n]));
        const Load load(spool.disk, threads, {}, first);
        std::vector<QueueId> begun;
        for (std::size_t n = 0; n < first.size(); ++n) begun.push_back(load.found.at(n).id);
        std::ranges::sort(begun);
        CHECK(begun == std::vector(spool.good.begin() + 200, spool.good.end()));
        CHECK(load.ids(spool.misplaced) == spool.good);
    }
}

TEST_CASE("a snapshot that is out of date changes nothing but the order") {
    for (const unsigned threads : {0u, 16u}) {
        CAPTURE(threads);
        Spool spool(100);
        const auto agent = spool::MessageReader::open(spool.disk, spool.good[21], Location::messages);
        REQUIRE(agent);
        const auto gone = spool.good[33], finished = spool.good[34], moved = spool.good[35];
        REQUIRE(spool.disk.unlink(spool::path_of(gone, Location::messages)));
        const std::vector<spool::SnapshotMessage> first = {
            {QueueId{0xabc07}, Location::messages},     // never was
            {gone, Location::messages},                 // delivered since
            other_place(spool.place(moved)),            // elsewhere by now
            {spool.misplaced, Location::messages},      // moved by hand
            {spool.never_finished, Location::incoming}, // not whole
            {spool.damaged, Location::messages},        // damaged
            spool.place(spool.good[21]),                // an agent delivers it
            {finished, Location::messages},             // being removed
            spool.place(spool.good[50]),
            spool.place(spool.good[50]),              // said twice
            other_place(spool.place(spool.good[50])), // … and a third time
        };
        const Load load(spool.disk, threads, {finished}, first);
        std::erase(spool.good, gone);
        std::erase(spool.good, finished);
        CHECK(load.found.front().id == first[8].id);
        CHECK(load.ids(spool.misplaced) == spool.good);
        for (const auto& each : load.found) {
            CHECK(each.in_flight == (each.id == first[6].id));
            CHECK(spool.disk.exists(spool::path_of(each.id, each.location)));
        }
        REQUIRE(load.aside.size() == 2); // as without a snapshot
        CHECK(spool.disk.exists("quarantine/" + spool.damaged.text()));
        CHECK(spool.disk.exists("quarantine/incomplete/" + spool.never_finished.text()));
        CHECK(load.unreadable.empty());
    }
}

TEST_CASE("what a living writer is writing is not read first either, should a snapshot name it") {
    Spool spool(20);
    const auto ids = std::move(*spool::QueueIdSource::open(spool.disk, 7, morning + std::chrono::hours(1)));
    const auto directory = std::move(*spool::SharedDirectory::open(spool.disk, "incoming/07"));
    QueueId half;
    const auto bytes = file_of(spool.disk, *ids, *directory, half);
    // Its content is what is not there yet, or not on the disk.
    auto zeros = bytes;
    std::ranges::fill(zeros.end() - 10, zeros.end(), '\0');
    for (const auto& unfinished : {bytes.substr(0, bytes.size() - 5), zeros}) {
        spool.disk.set_contents(spool::path_of(half, Location::incoming), unfinished);
        const Load load(spool.disk, 4, {}, {{half, Location::incoming}});
        for (const auto& each : load.found) CHECK(each.id != half);
        CHECK(spool.disk.exists(spool::path_of(half, Location::incoming)));
    }
}

TEST_CASE("the power goes at any operation of a load that began with what was due next") {
    std::uint64_t operations;
    const auto first_of = [](const Spool& spool) {
        std::vector<spool::SnapshotMessage> first;
        for (const std::size_t n : {29, 0, 11, 17}) first.push_back(spool.place(spool.good[n]));
        first.push_back({spool.damaged, Location::messages});
        return first;
    };
    {
        Spool spool(30);
        const auto before = spool.disk.operations();
        const Load load(spool.disk, 4, {}, first_of(spool));
        operations = spool.disk.operations() - before;
    }
    for (std::uint64_t n = 0; n <= operations; ++n)
        for (const auto keep : {Keep::nothing, Keep::everything, Keep::by_seed}) {
            CAPTURE(n);
            Spool spool(30);
            const auto first = first_of(spool);
            spool.disk.cut_power_after(n);
            const Load cut(spool.disk, 4, {}, first);
            CHECK(cut.ids(spool.misplaced).size() <= spool.good.size());
            spool.disk.restart(keep, n);
            const Load load(spool.disk, 4, {}, first); // whatever order, and however stale
            CHECK(load.ids(spool.misplaced) == spool.good);
            CHECK(load.unreadable.empty());
        }
}

TEST_CASE("a message an agent holds stays taken when its file has moved meanwhile, until the agent lets go") {
    Spool spool(2);
    const auto id = spool.good[0]; // in incoming/
    spool::CommitPool pool(spool.disk, 0, {});
    SpoolScanner loader(pool, {});
    bool free = false;
    const auto look = [&] {
        loader.when_unlocked(id, Location::incoming, [&] { free = true; });
        pool.drain();
        return free;
    };
    {
        auto agent = spool.disk.open(spool::path_of(id, Location::incoming), spool::Open::read);
        REQUIRE(agent);
        REQUIRE(spool.disk.lock(*agent, spool::Lock::shared));
        CHECK_FALSE(look());
        REQUIRE(spool.disk.rename(spool::path_of(id, Location::incoming), spool::path_of(id, Location::messages)));
        CHECK_FALSE(look());
    }
    CHECK(look());
    REQUIRE(spool.disk.unlink(spool::path_of(id, Location::messages)));
    free = false;
    CHECK(look()); // there is nothing left to hold
}

TEST_CASE("a message whose removal the power undid is removed again, not found") {
    Spool spool(5);
    const auto back = spool.good[1];
    auto index = std::make_shared<spool::FinishedIndex>();
    index->add({back, spool::MessageReader::open(spool.disk, back, Location::messages)->header_checksum()});
    index->add({spool.good[2], 1}); // another message of that id: from a spool that was restored since
    spool::CommitPool pool(spool.disk, 0, {});
    std::vector<QueueId> found, removed;
    SpoolScanner loader(pool, {.found = [&](spool::Found&& each) { found.push_back(each.id); },
                               .put_aside = [](const spool::QuarantinedFile&) {},
                               .unreadable = [](const spool::Error&) {},
                               .all_loaded = [] {},
                               .finished_before = [&](QueueId id) { removed.push_back(id); }});
    loader.load_everything({{back, Location::messages}}, index);
    while (loader.loading()) pool.drain();
    CHECK(removed == std::vector{back});
    CHECK(std::ranges::count(found, back) == 0);
    CHECK(std::ranges::count(found, spool.good[2]) == 1);
    CHECK_FALSE(spool::MessageReader::open(spool.disk, back, Location::messages));
}

// What a clean stop leaves: there and back, once; and what is made of a snapshot that is damaged, or another
// version's.
#include "libspool/format/fields.h"
#include "libspool/format/record.h"
#include "libspool/store/snapshot.h"
#include "libspool/store/store.h"
#include "tests/libspool/disk/fake_disk.h"
#include <doctest/doctest.h>

using namespace spool;
using spool::test::FakeDisk;

namespace {

constexpr smtp::WallTime noon{std::chrono::seconds(1'750'000'000)};
constexpr char path[] = "index/snapshot";

// Those in incoming/ among those in messages/, in no order that could come about by itself.
Snapshot snapshot_of(std::uint64_t messages) {
    Snapshot snapshot{noon, {}, "links and queues"};
    for (std::uint64_t n = messages; n > 0; --n)
        snapshot.messages.push_back(
            {QueueId{n * 7919 % 10'007 << 8 | 1}, n % 3 == 0 ? Location::incoming : Location::messages});
    return snapshot;
}

struct Spool {
    Spool() { REQUIRE(prepare_spool(disk, {1})); }
    // It is written; what lies there then.
    std::string written(const Snapshot& snapshot) {
        REQUIRE(write_snapshot(disk, snapshot));
        return disk.contents(path);
    }
    std::optional<Snapshot> taken() {
        auto taken = take_snapshot(disk);
        REQUIRE(taken);
        CHECK_FALSE(disk.exists(path));
        return *std::move(taken);
    }
    FakeDisk disk;
};

// A message as version 1 could describe it from the first, though nobody ever wrote one.
struct Talkative {
    QueueId id;
    Location location = Location::messages;
    std::uint64_t size = 1000;
    std::string link = "[192.0.2.1]:25", queue = "example.net";
    smtp::WallTime next_attempt = noon;
    static void fields(auto& m, auto& f) {
        f(1, m.id);
        f(2, m.location);
        f(3, m.size);
        f(6, m.link);
        f(7, m.queue);
        f(8, m.next_attempt);
    }
};
struct Head {
    std::uint32_t version = 1;
    std::string state = "links and queues";
    static void fields(auto& m, auto& f) {
        f(1, m.version);
        f(3, m.state);
    }
};
struct Messages {
    std::vector<Talkative> messages;
    static void fields(auto& m, auto& f) { f(1, m.messages); }
};
struct End {
    std::uint64_t count = 0;
    static void fields(auto& m, auto& f) { f(1, m.count); }
};

std::string file_of(const Head& head, const Messages& messages, const End& end) {
    std::string bytes;
    append_record(bytes, QueueId{1}, {2, 1, true, 0, fields::Writer::bytes_of(head)});
    append_record(bytes, QueueId{1}, {3, 2, true, 0, fields::Writer::bytes_of(messages)});
    append_record(bytes, QueueId{1}, {4, 3, true, 0, fields::Writer::bytes_of(end)});
    return bytes;
}

} // namespace

TEST_CASE("snapshot: there and back, in its order, once") {
    for (const std::uint64_t messages : {0, 1, 1000, 10'000}) {
        CAPTURE(messages);
        Spool spool;
        const auto snapshot = snapshot_of(messages);
        REQUIRE(spool.written(snapshot) != "");
        CHECK(spool.taken() == snapshot);
        CHECK(spool.taken() == std::nullopt);
    }
}

TEST_CASE("snapshot: cut short or with any byte changed it is no snapshot, and gone all the same") {
    Spool spool;
    const auto whole = spool.written(snapshot_of(5));
    for (std::size_t size = 0; size < whole.size(); ++size) {
        CAPTURE(size);
        spool.disk.set_contents(path, whole.substr(0, size));
        CHECK(spool.taken() == std::nullopt);
        auto changed = whole;
        changed[size] ^= 1;
        spool.disk.set_contents(path, changed);
        CHECK(spool.taken() == std::nullopt);
    }
    spool.disk.set_contents(path, whole);
    CHECK(spool.taken() == snapshot_of(5));
}

TEST_CASE("snapshot: more said of a message than is used is passed over; another version is left unread") {
    Spool spool;
    const Messages messages{{{.id = QueueId{0x1201}}, {.id = QueueId{0x1101}, .location = Location::incoming}}};
    spool.disk.set_contents(path, file_of({}, messages, {2}));
    const auto taken = spool.taken();
    REQUIRE(taken);
    CHECK(taken->state == "links and queues");
    CHECK(taken->messages ==
          std::vector<SnapshotMessage>{{QueueId{0x1201}, Location::messages}, {QueueId{0x1101}, Location::incoming}});
    spool.disk.set_contents(path, file_of({.version = 2}, messages, {2}));
    CHECK(spool.taken() == std::nullopt);
    spool.disk.set_contents(path, file_of({}, messages, {3}));
    CHECK(spool.taken() == std::nullopt);
    spool.disk.set_contents(path, file_of({}, {{{.id = QueueId{0}}}}, {1}));
    CHECK(spool.taken() == std::nullopt);
}

// Memory of messages that are being written: counted to the last byte, put down into files when it gets short.
#include "libspool/format/layout.h"
#include "libspool/message/content_memory.h"
#include "libspool/message/message_reader.h"
#include "libspool/message/message_writer.h"
#include "libspool/store/store.h"
#include "tests/libspool/disk/fake_disk.h"
#include <doctest/doctest.h>

using namespace spool;
using spool::test::FakeDisk;
using Level = ContentMemory::Level;

namespace {

constexpr std::uint64_t KiB = 1024, limit = 1024 * KiB;

struct Writers {
    Writers() {
        REQUIRE(prepare_spool(disk, {3}));
        auto opened = SharedDirectory::open(disk, directory_of(id_of(1), Location::incoming));
        REQUIRE(opened);
        directory = std::move(*opened);
        envelope.recipients.resize(1);
        envelope.recipients[0].address = "bob@example.net";
    }
    static QueueId id_of(std::uint64_t number) { return QueueId{((number + 500) << 8) | 3}; }
    MessageWriter& add() {
        WriterOptions options;
        options.memory = &memory;
        return writers.emplace_back(pool, *directory, id_of(writers.size()), envelope, options);
    }
    bool on_disk(std::size_t number) const {
        return disk.exists(directory_of(id_of(number), Location::incoming) + "/" + id_of(number).text());
    }
    // As the loop would.
    void turn() {
        pool.drain();
        if (std::exchange(woken, false)) memory.resume_waiting();
        pool.drain();
    }

    bool woken = false;
    FakeDisk disk;
    ContentMemory memory{limit, [this] { woken = true; }};
    CommitPool pool{disk, 0, {}};
    std::unique_ptr<SharedDirectory> directory;
    Envelope envelope;
    std::deque<MessageWriter> writers;
};

} // namespace

TEST_CASE("what is held is counted, and nothing stays counted") {
    Writers w;
    w.add().append(std::string(100 * KiB, 'x'));
    CHECK(w.memory.held() >= 100 * KiB);
    CHECK(w.memory.held() < 110 * KiB);
    w.add().append(std::string(50 * KiB, 'x'));
    w.writers[0].abandon();
    CHECK(w.memory.held() < 60 * KiB);
    bool durable = false;
    w.writers[1].commit([&](auto receipt) { durable = receipt.has_value(); });
    w.turn();
    CHECK(durable);
    w.writers.clear();
    CHECK(w.memory.held() == 0);
    w.add().append(std::string(3 << 20, 'x')); // in pieces
    w.writers[0].commit([&](auto) {});
    w.turn();
    w.writers.clear();
    CHECK(w.memory.held() == 0);
}

TEST_CASE("contents at rest go to their files when memory gets short, and are whole in the end") {
    Writers w;
    std::string content = "Subject: x\r\n\r\n";
    while (content.size() < 100 * KiB) content += "a line of the message\r\n";
    for (int n = 0; n < 30; ++n) w.add().append(content); // three times the budget
    CHECK(w.memory.held() < limit);
    CHECK(w.on_disk(0));
    std::vector<bool> durable(30);
    for (std::size_t n = 0; n < 30; ++n) {
        w.writers[n].append("the end\r\n");
        w.writers[n].commit([&, n](auto receipt) { durable[n] = receipt.has_value(); });
    }
    w.turn();
    CHECK(std::ranges::count(durable, true) == 30);
    auto reader = MessageReader::open(w.disk, Writers::id_of(0), Location::incoming);
    REQUIRE(reader);
    CHECK(reader->size() == content.size() + 9);
    w.writers.clear();
    CHECK(w.memory.held() == 0);
}

TEST_CASE("who holds much waits while memory is scarce, and goes on in turn; small ones never wait") {
    Writers w;
    ContentMemory::Share others(w.memory);
    others.set(limit * 3 / 4);
    CHECK(w.memory.level() == Level::scarce);
    int resumed = 0;
    for (int n = 0; n < 3; ++n) {
        auto& writer = w.add();
        writer.append(std::string(4 * KiB, 'x'));
        CHECK_FALSE(writer.wants_pause());
    }
    // A disk that has not written yet what it was given: threads that do nothing.
    for (int n = 0; n < 3; ++n) w.writers[static_cast<std::size_t>(n)].on_resume([&] { ++resumed; });
    others.set(limit * 2);
    CHECK(w.memory.level() == Level::exhausted);
    others.set(0);
    w.turn();
    CHECK(resumed == 0);
    CHECK(w.memory.waiting() == 0);
    std::vector<int> order;
    others.set(limit * 3 / 4);
    for (int n = 0; n < 40; ++n) w.memory.wait([&order, n] { order.push_back(n); });
    w.turn();
    CHECK(order.empty());
    others.set(0);
    for (int n = 0; n < 10; ++n) w.turn();
    REQUIRE(order.size() == 40);
    CHECK(std::ranges::is_sorted(order));
}

// What the deliveries of one message share.
#include "daemons/common/delivery/message_cache.h"
#include "libspool/message/message_writer.h"
#include "libspool/store/store.h"
#include "tests/libspool/disk/fake_disk.h"
#include <doctest/doctest.h>

using common::MessageCache;
using spool::Location;
using spool::QueueId;

namespace {

struct Spool {
    QueueId write(std::uint64_t tick, std::size_t recipients) {
        const QueueId id{tick << 8 | 3};
        spool::Envelope envelope;
        envelope.reverse_path = "ann@example.org";
        for (std::size_t n = 0; n < recipients; ++n)
            envelope.recipients.emplace_back().address = "somebody" + std::to_string(n) + "@example.net";
        auto directory = spool::SharedDirectory::open(disk, directory_of(id, Location::incoming));
        spool::MessageWriter writer(pool, **directory, id, envelope);
        writer.append("Subject: x\r\n\r\n");
        writer.commit([](auto receipt) { REQUIRE(receipt); });
        pool.drain();
        return id;
    }
    spool::test::FakeDisk disk;
    spool::Result<> prepared = spool::prepare_spool(disk, {3});
    spool::CommitPool pool{disk, 0, [] {}};
    MessageCache messages{disk};
};

} // namespace

TEST_CASE("deliveries of one message hold its recipients once, and the next one finds them there") {
    Spool spool;
    const auto id = spool.write(500, 10'000);
    const spool::MessageState* state = nullptr;
    {
        auto one = spool.messages.open(id, Location::incoming), two = spool.messages.open(id, Location::incoming);
        REQUIRE(one);
        REQUIRE(two);
        CHECK(&one->state() == &two->state());
        state = &one->state();
        CHECK(state->recipients.size() == 10'000);
    }
    // None is open for a moment; then the next.
    const auto before = spool.disk.bytes_read();
    const auto three = spool.messages.open(id, Location::incoming);
    REQUIRE(three);
    CHECK(&three->state() == state);
    CHECK(spool.disk.bytes_read() - before <= 64 * 1024);
}

TEST_CASE("of a message that nobody reads, nothing is kept when another comes or all is quiet") {
    Spool spool;
    const auto large = spool.write(500, 10'000), other = spool.write(501, 200);
    std::weak_ptr<spool::FoldedLog> kept;
    if (auto reader = spool.messages.open(large, Location::incoming)) kept = reader->folded();
    CHECK_FALSE(kept.expired());
    CHECK(spool.messages.open(other, Location::incoming));
    CHECK(kept.expired());
    if (auto reader = spool.messages.open(large, Location::incoming)) kept = reader->folded();
    spool.messages.forget_last();
    CHECK(kept.expired());
}

TEST_CASE("what has gone or is damaged says so, to each who opens it") {
    Spool spool;
    const auto id = spool.write(500, 10);
    const auto first = spool.messages.open(id, Location::incoming);
    REQUIRE(first);
    const auto path = path_of(id, Location::incoming);
    const auto whole = spool.disk.contents(path);
    spool.disk.set_contents(path, whole.substr(0, 100));
    CHECK_FALSE(spool.messages.open(id, Location::incoming));
    spool.disk.set_contents(path, whole);
    CHECK(spool.messages.open(id, Location::incoming));
    REQUIRE(spool.disk.unlink(path));
    const auto gone = spool.messages.open(id, Location::incoming);
    REQUIRE_FALSE(gone);
    CHECK(std::get<spool::Error>(gone.error()).code == ENOENT);
}

// Whether an agent still delivers a message: several may ask at once, as two scans of one directory do while the spool
// is read and a writer begins; who asks is not taken for an agent.
#include "libspool/message/message_reader.h"
#include "libspool/message/message_writer.h"
#include "tests/libspool/disk/fake_disk.h"
#include <doctest/doctest.h>

using namespace spool;
using spool::test::FakeDisk;

namespace {

const QueueId asked_id{(std::uint64_t{700} << 8) | 4};

struct AskedMessage {
    AskedMessage() {
        auto directory = SharedDirectory::open(disk, directory_of(asked_id, Location::incoming));
        Envelope envelope;
        envelope.reverse_path = "ann@example.org";
        envelope.recipients.emplace_back().address = "bob@example.net";
        MessageWriter writer(pool, **directory, asked_id, envelope);
        writer.append("Subject: asked\r\n\r\nHello.\r\n");
        writer.commit([](auto receipt) { REQUIRE(receipt); });
        pool.drain();
    }
    MessageReader open(ReadLock lock) {
        auto reader = MessageReader::open(disk, asked_id, Location::incoming, lock);
        REQUIRE(reader);
        return *std::move(reader);
    }

    FakeDisk disk;
    Result<> prepared = prepare_spool(disk, {asked_id.slot()});
    CommitPool pool{disk, 0, {}};
};

} // namespace

TEST_CASE("asking whether an agent has a message: an agent is found, one who asks is not") {
    AskedMessage message;
    auto first = message.open(ReadLock::none), second = message.open(ReadLock::none);
    CHECK_FALSE(first.held_by_another());
    CHECK_FALSE(second.held_by_another()); // though the first reader still exists
    {
        const auto agent = message.open(ReadLock::shared);
        CHECK(first.held_by_another());
        CHECK(second.held_by_another());
    }
    CHECK_FALSE(first.held_by_another());
}

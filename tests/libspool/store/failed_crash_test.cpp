// A finished message that failed for a recipient is kept in failed/, while the power goes.
#include "libspool/message/message_reader.h"
#include "libspool/store/recovery.h"
#include "libspool/store/store.h"
#include "tests/libspool/store/post.h"
#include <cerrno>
#include <doctest/doctest.h>
#include <optional>
#include <utility>

using namespace spool;
using namespace spool::test;
using Keep = FakeDisk::Keep;

namespace {

const Reply refusal{.code = 550, .status = "5.1.1", .text = "no such user"};

// What is written when its only recipient is refused, before the message is removed; the report's mark is left out.
std::vector<Property> failure() { return {StatusChanged{{0}, Status::failed, morning, refusal, "x"}}; }
std::vector<Property> report() { return {NdrIssued{{0}, Reported::submitted, {}, morning}}; }

Result<> keep(Post& post, QueueId id) {
    std::optional<Result<>> outcome;
    post.store().keep_failed(id, Location::messages, report(), [&](Result<> done) { outcome = std::move(done); });
    post.settle();
    return *outcome;
}

// In failed/, with what is needed to send it again; nothing: it is not there.
bool kept_whole(Disk& disk, QueueId id) {
    const auto reader = MessageReader::open_path(disk, path_of_failed(id));
    if (!reader) return false;
    const auto& recipient = reader->state().recipients.front();
    CHECK(recipient.status == Status::failed);
    CHECK(recipient.accounted_for());
    CHECK(recipient.reply.text == "no such user");
    return reader->state().finished();
}

} // namespace

TEST_CASE("a failed message is kept, finished, or still in the queue, whenever the power goes") {
    for (const bool reused : {false, true})
        for (const auto& how : power_cuts)
            for (std::uint64_t n = 0;; ++n) {
                CAPTURE(reused);
                CAPTURE(n);
                FakeDisk disk;
                prepare(disk);
                Books books;
                std::optional<QueueId> id;
                bool promised = false;
                {
                    Post post(disk, books);
                    REQUIRE(post.open());
                    id = post.accept(reused ? 900 : 200'000);
                    REQUIRE(id);
                    REQUIRE(post.store().hint(*id, Location::incoming).reused.valid() == reused);
                    disk.cut_power_after(n);
                    post.store().append(*id, Location::incoming, failure(), Sync::no);
                    promised = keep(post, *id).has_value();
                }
                const bool whole = !disk.power_is_off();
                disk.restart(how.keep, how.seed);
                // Recovery: it is in failed/ already, or is found as it was, or finished and is kept now.
                const bool there = disk.exists(path_of_failed(*id));
                std::optional<Found> found;
                auto scan = RecoveryScan::everything(disk);
                while (!scan.finished()) {
                    auto batch = scan.step();
                    CHECK(batch.quarantined.empty());
                    CHECK(batch.errors.empty());
                    for (auto& each : batch.found) found = std::move(each);
                }
                CHECK(there != found.has_value()); // in one place, always
                if (there) CHECK(kept_whole(disk, *id));
                if (found) CHECK(found->id == *id);
                // What was moved and is found again, is found finished: no recipient gets a second report.
                if (found && promised) CHECK(found->state.finished());
                if (found && found->state.finished()) {
                    Post post(disk, books);
                    REQUIRE(post.open());
                    if (found->reused_file.valid()) post.store().occupies(*id, found->reused_file, 0);
                    std::optional<Result<>> outcome;
                    post.store().keep_failed(*id, found->location, {},
                                             [&](Result<> done) { outcome = std::move(done); });
                    post.settle();
                    CHECK(outcome->has_value());
                    CHECK(kept_whole(disk, *id));
                }
                if (whole) {
                    CHECK(promised);
                    break;
                }
            }
}

TEST_CASE("a message whose file is gone is kept nowhere, and that is no error") {
    FakeDisk disk;
    prepare(disk);
    Books books;
    Post post(disk, books);
    REQUIRE(post.open());
    CHECK(keep(post, QueueId{0x0C5D183A07F307}).has_value());
    CHECK_FALSE(disk.exists(path_of_failed(QueueId{0x0C5D183A07F307})));
}

TEST_CASE("a message whose file cannot be synced is not kept, and can be removed") {
    FakeDisk disk;
    prepare(disk);
    Books books;
    Post post(disk, books);
    REQUIRE(post.open());
    const auto id = post.accept(200'000);
    REQUIRE(id);
    disk.fail_after(1, EIO); // after the write
    CHECK_FALSE(keep(post, *id).has_value());
    CHECK_FALSE(disk.exists(path_of_failed(*id)));
    post.deliver(*id);
    CHECK_FALSE(disk.exists(path_of(*id, Location::incoming)));
}

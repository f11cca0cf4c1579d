#include "daemons/bounce/undeliverable_store.h"
#include "libspool/disk/real_disk.h"
#include "libspool/message/message_writer.h"
#include "tests/temporary_directory.h"
#include <doctest/doctest.h>

TEST_CASE("an undeliverable report is copied to bad/ with the reason, again and again") {
    const TemporaryDirectory directory{"bad", "messages", "incoming"};
    const auto& root = directory.path();
    const spool::QueueId id{0x0A1B2C3D4E5F01};
    const auto path = path_of(id, spool::Location::messages);
    std::filesystem::create_directories((root / path).parent_path());
    directory.write(path, std::string(600'000, 'x') + "end");
    auto disk = spool::RealDisk::open_at(root);
    REQUIRE(disk);
    for (int i = 0; i < 2; ++i) {
        const auto copied = bounce::copy_to_bad(**disk, id, spool::Location::incoming, "550 no");
        REQUIRE(copied);
        CHECK(directory.text("bad/" + id.text()) == directory.text(path));
    }
    CHECK(directory.text("bad/" + id.text() + ".why") == "550 no\n550 no\n");
    const auto missing = bounce::copy_to_bad(**disk, spool::QueueId{0x1111}, spool::Location::incoming, "x");
    REQUIRE_FALSE(missing);
    CHECK(missing.error().code == ENOENT);
}

TEST_CASE("of a message larger than its share, or that the disk has no room for, the header is kept") {
    const TemporaryDirectory directory{"bad", "messages", "incoming/10"};
    const auto& root = directory.path();
    auto disk = spool::RealDisk::open_at(root);
    REQUIRE(disk);
    spool::CommitPool pool(**disk, 0, [] {});
    auto shared = spool::SharedDirectory::open(**disk, "incoming/10");
    REQUIRE(shared);
    const spool::QueueId id{0x0A1B2C3D4E5F10};
    spool::Envelope envelope;
    envelope.recipients.push_back({.address = "a@x.example"});
    {
        spool::MessageWriter writer(pool, **shared, id, envelope);
        writer.append("Subject: large\r\nX-More: y\r\n\r\n" + std::string(100'000, 'x') + "\r\n");
        bool done = false;
        writer.commit([&](spool::Result<spool::DurableReceipt> receipt) { done = receipt.has_value(); });
        pool.drain();
        REQUIRE(done);
    }
    const auto keep = [&](const bounce::StoreLimits& limits) {
        return bounce::copy_to_bad(**disk, id, spool::Location::incoming, std::string(200'000, 'w'), limits);
    };
    CHECK(*keep({.message = 50'000}) == bounce::CopiedPart::header);
    CHECK(directory.text("bad/" + id.text() + ".header") == "Subject: large\r\nX-More: y\r\n");
    const auto why = directory.text("bad/" + id.text() + ".header.why");
    CHECK(why.starts_with("only the header of 100031 bytes is kept\n"));
    CHECK(why.size() < 70'000);
    CHECK_FALSE(std::filesystem::exists(root / "bad" / id.text()));
    CHECK(*keep({.floor = {std::uint64_t{1} << 60, 0}}) == bounce::CopiedPart::header);
    CHECK(*keep({.message = 500'000}) == bounce::CopiedPart::whole);
    CHECK(directory.text("bad/" + id.text()) == directory.text(path_of(id, spool::Location::incoming)));
}

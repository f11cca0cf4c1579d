#include "daemons/bounce/bad.h"
#include "libspool/real_disk.h"
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

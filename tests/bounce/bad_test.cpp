#include "daemons/bounce/bad.h"
#include "libspool/real_disk.h"
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <iterator>

TEST_CASE("an undeliverable report is copied to bad/ with the reason, again and again") {
    char name[] = "/tmp/postrider-bad-XXXXXX";
    const std::filesystem::path root = mkdtemp(name);
    const spool::QueueId id{0x0A1B2C3D4E5F01};
    for (auto directory : {"bad", "messages", "incoming"})
        std::filesystem::create_directories(root / directory);
    const auto path = root / path_of(id, spool::Location::messages);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << std::string(600'000, 'x') << "end";
    auto disk = spool::RealDisk::open_at(root);
    REQUIRE(disk);
    const auto text = [](const std::filesystem::path& p) {
        std::ifstream in(p);
        return std::string(std::istreambuf_iterator<char>(in), {});
    };
    for (int i = 0; i < 2; ++i) {
        const auto copied = bounce::copy_to_bad(**disk, id, spool::Location::incoming, "550 no");
        REQUIRE(copied);
        CHECK(text(root / "bad" / id.text()) == text(path));
    }
    CHECK(text(root / "bad" / (id.text() + ".why")) == "550 no\n550 no\n");
    const auto missing = bounce::copy_to_bad(**disk, spool::QueueId{0x1111}, spool::Location::incoming, "x");
    REQUIRE_FALSE(missing);
    CHECK(missing.error().code == ENOENT);
    std::filesystem::remove_all(root);
}

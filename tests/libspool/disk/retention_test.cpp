#include "libspool/disk/retention.h"
#include "tests/temporary_directory.h"
#include <chrono>
#include <doctest/doctest.h>
#include <sys/stat.h>

using namespace spool;
using namespace std::chrono_literals;

namespace {

struct Place {
    TemporaryDirectory directory{"bad/below"};
    std::unique_ptr<RealDisk> disk = *RealDisk::open_at(directory.path());
    std::chrono::system_clock::time_point now = std::chrono::system_clock::now();

    void put(const std::string& name) {
        directory.write("bad/" + name, std::string(20'000, 'x'));
        directory.write("bad/" + name + ".why", "because");
    }
    bool has(const std::string& name) const { return std::filesystem::exists(directory.path() / "bad" / name); }
    RetentionResult keep(std::chrono::seconds age, std::uint64_t bytes) {
        const auto kept = enforce_retention(*disk, "bad", {age, bytes}, now);
        REQUIRE(kept);
        return *kept;
    }
};

} // namespace

TEST_CASE("put aside: the oldest go, each with its reason, until the rest is within the size") {
    Place place;
    for (int n = 0; n < 10; ++n) place.put("m" + std::to_string(n)); // at the same time: by their names
    const auto all = place.keep(0s, 0);
    CHECK(all.files == 10);
    CHECK(all.bytes >= 10 * 20'000);
    const auto kept = place.keep(0s, all.bytes * 4 / 10);
    CHECK(kept.files == 4);
    CHECK(kept.removed == 6);
    CHECK(kept.bytes + kept.removed_bytes == all.bytes);
    for (int n = 0; n < 10; ++n) {
        CHECK(place.has("m" + std::to_string(n)) == (n >= 6));
        CHECK(place.has("m" + std::to_string(n) + ".why") == (n >= 6));
    }
    CHECK(place.has("below"));
    CHECK(enforce_retention(*place.disk, "nowhere", {1s, 1}, place.now)->files == 0);
}

TEST_CASE("put aside: what is too old goes, whatever it is; directories stay") {
    Place place;
    place.put("m");
    REQUIRE(::mkfifo((place.directory.path() / "bad/pipe").c_str(), 0600) == 0);
    CHECK(place.keep(1h, 0).files == 2);
    place.now += 2h;
    const auto kept = place.keep(1h, 0);
    CHECK(kept.removed == 2);
    CHECK(kept.files == 0);
    CHECK(place.has("below"));
}

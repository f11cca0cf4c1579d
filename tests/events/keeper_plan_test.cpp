// What is done with which segment, and when.
#include "daemons/events/keeper_plan.h"
#include <doctest/doctest.h>

using namespace events;

namespace {

constexpr std::int64_t day = 86'400, now = 100 * day;
constexpr std::uint64_t mega = 1'000'000;

KeptSegment plain(std::uint64_t first, std::uint64_t end) {
    return {.segment = {.first = first, .end = end, .plain = true}, .bytes = 10 * mega};
}
KeptSegment sealed(std::uint64_t first, std::uint64_t end, bool indexed = true, std::int64_t newest = now) {
    return {
        .segment = {.first = first, .end = end, .sealed = true, .indexed = indexed}, .bytes = mega, .newest = newest};
}

std::optional<KeeperStep> step(const std::vector<KeptSegment>& segments, std::uint64_t published,
                               const KeepLimits& limits = {}) {
    return next_step(segments, published, limits, now);
}

} // namespace

TEST_CASE("a segment is sealed when a newer one exists and all of it is on stable storage") {
    CHECK(step({}, 0) == std::nullopt);
    CHECK(step({plain(1, 11)}, 10) == std::nullopt);
    CHECK(step({plain(1, 11), plain(11, 99)}, 9) == std::nullopt);
    CHECK(step({plain(1, 11), plain(11, 99)}, 10) == KeeperStep{KeeperWork::seal, 1});
    CHECK(step({plain(1, 11), plain(11, 21), plain(21, 99)}, 20) == KeeperStep{KeeperWork::seal, 1});
    CHECK(step({sealed(1, 11), plain(11, 21), plain(21, 99)}, 15) == std::nullopt);
}

TEST_CASE("sealed segments are indexed, the newest first, but those whose index cannot be written") {
    const std::vector<KeptSegment> segments = {sealed(1, 11, false), sealed(11, 21, false), sealed(21, 31),
                                               plain(31, 99)};
    CHECK(step(segments, 50) == KeeperStep{KeeperWork::index, 11});
    CHECK(next_step(segments, 50, {}, now, {11}) == KeeperStep{KeeperWork::index, 1});
    CHECK(next_step(segments, 50, {}, now, {11, 1}) == std::nullopt);
    CHECK(step({plain(1, 11), sealed(11, 21, false), plain(21, 99)}, 50) == KeeperStep{KeeperWork::seal, 1});
}

TEST_CASE("the oldest segment is removed by age or size, never the one that is written") {
    const std::vector<KeptSegment> segments = {sealed(1, 11, true, now - 31 * day), sealed(11, 21), plain(21, 99)};
    CHECK(step(segments, 50, {.seconds = 30 * day}) == KeeperStep{KeeperWork::remove, 1});
    CHECK(step(segments, 50, {.seconds = 32 * day}) == std::nullopt);
    CHECK(step(segments, 50, {.bytes = 11 * mega}) == KeeperStep{KeeperWork::remove, 1});
    CHECK(step(segments, 50, {.bytes = 12 * mega}) == std::nullopt);
    CHECK(step(segments, 50, {}) == std::nullopt);
    CHECK(step({plain(21, 99)}, 50, {.seconds = 1, .bytes = 1}) == std::nullopt);
    CHECK(step({plain(1, 11), plain(11, 99)}, 0, {.bytes = mega}) == KeeperStep{KeeperWork::remove, 1}); // a full disk
    CHECK(step({sealed(1, 11, true, 0), plain(11, 99)}, 50, {.seconds = 1}) == std::nullopt); // its time is not known
}

TEST_CASE("a journal that is near its size holds less than it is to, or it does not matter") {
    const KeepLimits limits{.seconds = 30 * day, .bytes = 10 * mega};
    std::vector<KeptSegment> segments;
    for (std::uint64_t n = 0; n < 9; ++n)
        segments.push_back(sealed(1 + 10 * n, 11 + 10 * n, true, now - static_cast<std::int64_t>(9 - n) * day));
    CHECK(time_that_fits(segments, limits, now) == 10 * day);
    CHECK(time_that_fits(segments, {.seconds = 10 * day, .bytes = 10 * mega}, now) == std::nullopt);
    CHECK(time_that_fits(segments, {.seconds = 30 * day}, now) == std::nullopt);
    CHECK(time_that_fits(segments, {.seconds = 30 * day, .bytes = 20 * mega}, now) == std::nullopt);
    CHECK(time_that_fits({sealed(1, 11, true, 0)}, {.seconds = day, .bytes = mega}, now) == std::nullopt);
    CHECK(time_that_fits({}, limits, now) == std::nullopt);
    segments.front().newest = now + day; // the clock was set
    CHECK(time_that_fits(segments, limits, now) == std::nullopt);
}

TEST_CASE("what a kill left between sealing and removing the plain file is finished first") {
    auto both = sealed(1, 11, false);
    both.segment.plain = true;
    CHECK(step({both, plain(11, 99)}, 50, {.bytes = 1}) == KeeperStep{KeeperWork::drop_plain, 1});
}

TEST_CASE("what a hook has yet to push is kept for its time, whatever the limits") {
    const std::vector<KeptSegment> segments = {sealed(1, 11, true, now - 2 * day), sealed(11, 21), plain(21, 99)};
    const auto with = [&](std::uint64_t next, std::int64_t seconds) {
        return step(segments, 50, {.seconds = day, .bytes = mega, .needs = {{next, seconds}}});
    };
    CHECK(with(10, 7 * day) == std::nullopt);
    CHECK(with(0, 7 * day) == std::nullopt); // not known yet
    CHECK(with(11, 7 * day) == KeeperStep{KeeperWork::remove, 1});
    CHECK(with(10, day) == KeeperStep{KeeperWork::remove, 1});
    CHECK(with(10, 0) == KeeperStep{KeeperWork::remove, 1});
    CHECK(step(segments, 50, {.seconds = day, .needs = {{30, day}, {5, 7 * day}}}) == std::nullopt); // one is enough
    // One whose age is not known is sealed first.
    CHECK(step({plain(1, 11), plain(11, 21), plain(21, 99)}, 50, {.bytes = mega, .needs = {{5, day}}}) ==
          KeeperStep{KeeperWork::seal, 1});
}

#include "daemons/common/lookup/tables/answer_cache.h"
#include <doctest/doctest.h>
#include <fmt/format.h>

using tables::Answer;
using tables::AnswerCache;
using namespace std::chrono_literals;

TEST_CASE("answers are kept until their time, and the oldest make room") {
    AnswerCache cache(10 * (AnswerCache::entry_overhead + 100));
    const smtp::Monotonic now{};
    for (int n = 0; n < 20; ++n) cache.put(fmt::format("k{}", n), Answer::found(std::string(90, 'v')), now + 30s);
    CHECK(cache.find("k0", now) == nullptr);
    REQUIRE(cache.find("k19", now) != nullptr);
    CHECK(cache.find("k19", now + 30s) == nullptr);
    CHECK(cache.bytes() <= 10 * (AnswerCache::entry_overhead + 100));
}

TEST_CASE("one that is never asked again does not keep what is put over and over") {
    AnswerCache cache;
    const smtp::Monotonic now{};
    cache.put("first", Answer::found("1"), now + 30s);
    for (int n = 0; n < 100'000; ++n) cache.put(fmt::format("k{}", n % 10), Answer::found("v"), now + 30s);
    CHECK(cache.places() < 200);
    CHECK(cache.find("first", now) != nullptr);
}

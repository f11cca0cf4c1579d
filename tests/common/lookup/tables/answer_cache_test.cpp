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

TEST_CASE("that there is no such key can be dropped where it is old") {
    AnswerCache cache;
    const smtp::Monotonic now{};
    cache.put("none", Answer{}, now + 30s);
    cache.put("there", Answer::found("1"), now + 30s);
    CHECK_FALSE(cache.drop_none("none", now + 30s));
    CHECK_FALSE(cache.drop_none("there", now + 31s));
    CHECK_FALSE(cache.drop_none("unheard of", now + 31s));
    const auto bytes = cache.bytes();
    CHECK(cache.drop_none("none", now + 31s));
    CHECK(cache.find("none", now) == nullptr);
    CHECK(cache.bytes() < bytes);
    cache.put("none", Answer::found("2"), now + 60s);
    REQUIRE(cache.find("none", now));
    CHECK(cache.find("none", now)->value == "2");
}

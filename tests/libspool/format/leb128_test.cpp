#include "libspool/format/leb128.h"
#include <doctest/doctest.h>
#include <limits>

using namespace spool;

TEST_CASE("numbers are whole again, and as long as they say") {
    for (const std::uint64_t n : {0ul, 1ul, 127ul, 128ul, 300ul, 1ul << 32, (1ul << 63) - 1, 1ul << 63, ~0ul}) {
        std::string bytes;
        leb128::put(bytes, n);
        CHECK(bytes.size() == leb128::size_of(n));
        bytes += "rest";
        std::string_view from = bytes;
        std::uint64_t read = 1;
        CHECK(leb128::take(from, read) == leb128::Taken::whole);
        CHECK(read == n);
        CHECK(from == "rest");
        for (std::size_t size = 0; size < leb128::size_of(n); ++size) {
            from = std::string_view(bytes).substr(0, size);
            CHECK(leb128::take(from, read) == leb128::Taken::cut_short);
        }
    }
}

TEST_CASE("more than 64 bits are no number") {
    for (const auto* bytes : {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80"}) {
        std::string_view from = bytes;
        std::uint64_t n;
        CHECK(leb128::take(from, n) == leb128::Taken::too_large);
    }
}

TEST_CASE("signed numbers near zero are short") {
    using limits = std::numeric_limits<std::int64_t>;
    for (const std::int64_t n : {std::int64_t(0), std::int64_t(-1), std::int64_t(63), limits::min(), limits::max()})
        CHECK(leb128::from_zigzag(leb128::zigzag(n)) == n);
    CHECK(leb128::size_of(leb128::zigzag(-64)) == 1);
}

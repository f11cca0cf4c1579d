// Which file a writer overwrites next: the one that came back last; new ones only while files come back.
#include "libspool/message/reusable_files.h"
#include <doctest/doctest.h>

using namespace spool;

namespace {

constexpr std::uint64_t small = 4000;

QueueId id(std::uint64_t n) { return QueueId{n << 8 | 16}; }

} // namespace

TEST_CASE("a file comes back when its message is finished, and is lent again") {
    ReusableFiles files(1024);
    const auto first = files.lend(id(1), small);
    REQUIRE(first);
    CHECK(first->name == id(1));
    files.passed_on(id(1));
    files.returned(id(1));
    CHECK(files.free() == 1);
    const auto second = files.lend(id(2), small);
    CHECK(second == first); // under its old name
    CHECK(files.free() == 0);
}

TEST_CASE("a file that is being written to is not given back by anybody") {
    ReusableFiles files(1024);
    REQUIRE(files.lend(id(1), small));
    files.returned(id(1)); // it was not passed on, so this is a mistake
    CHECK(files.free() == 0);
    CHECK(files.passed_on().empty());
    CHECK(files.lend(id(2), small)->name == id(2));
}

TEST_CASE("a file is given back once") {
    ReusableFiles files(1024);
    REQUIRE(files.lend(id(1), small));
    files.passed_on(id(1));
    files.returned(id(1));
    files.returned(id(1));
    files.returned(id(9)); // never lent
    CHECK(files.free() == 1);
}

TEST_CASE("long messages get files of their own, and so does everything if that is configured") {
    CHECK_FALSE(ReusableFiles(1024).lend(id(1), ReusableFiles::file_size + 1));
    CHECK(ReusableFiles(1024).lend(id(1), ReusableFiles::file_size));
    CHECK_FALSE(ReusableFiles(0).lend(id(1), small));
}

TEST_CASE("while nothing comes back, few files are made; each one that comes back allows another") {
    ReusableFiles files(1024);
    std::uint64_t n = 0;
    while (files.lend(id(++n), small)) files.passed_on(id(n));
    CHECK(n - 1 == 64);
    for (std::uint64_t back = 1; back <= 10; ++back) files.lost(id(back)); // their messages wait
    CHECK_FALSE(files.lend(id(++n), small));
    files.returned(id(20));
    CHECK(files.lend(id(100), small)->name == id(20));  // that one
    CHECK(files.lend(id(101), small)->name == id(101)); // and a new one
    CHECK_FALSE(files.lend(id(102), small));
}

TEST_CASE("there are never more files than configured") {
    ReusableFiles files(3);
    for (std::uint64_t n = 1; n <= 3; ++n) {
        REQUIRE(files.lend(id(n), small));
        files.passed_on(id(n));
    }
    CHECK_FALSE(files.lend(id(4), small));
    files.lost(id(2));
    CHECK(files.lend(id(5), small));
    CHECK_FALSE(files.lend(id(6), small));
}

TEST_CASE("a file whose commit failed is gone") {
    ReusableFiles files(1024);
    REQUIRE(files.lend(id(1), small));
    files.lost(id(1));
    files.returned(id(1));
    CHECK(files.free() == 0);
}

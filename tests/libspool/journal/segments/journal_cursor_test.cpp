// Reading the journal: over segments, torn ends, repeated numbers, damage, and on as it grows.
#include "libspool/journal/segments/journal_cursor.h"
#include "libspool/journal/segments/plain_segment.h"
#include "tests/libspool/journal/segments/journal_files.h"
#include <algorithm>
#include <ranges>

using namespace spool;
using namespace spool::test;

namespace {

const std::string filling(900, 'x'); // makes a line about a kilobyte long
std::string long_events(std::uint64_t from, std::uint64_t to) {
    return events(from, to, R"(,"text":")" + filling + '"');
}

} // namespace

TEST_CASE("names of segments: in order, whatever else is there") {
    const auto segments = segments_of({"node", "synced", "00000000000000000011.jsonl", "00000000000000000001.jsonl.zst",
                                       "00000000000000000001.frames", "00000000000000000001.index",
                                       "00000000000000000003.index", "0000000000000000000x.jsonl", "7.jsonl",
                                       "00000000000000000001.jsonl.zst.new", "99999999999999999999.jsonl"});
    REQUIRE(segments.size() == 2);
    CHECK(segments[0] == Segment{.first = 1, .end = 11, .sealed = true, .indexed = true});
    CHECK(segments[1] == Segment{.first = 11, .end = everything, .plain = true});
    CHECK(segments[0].file() == "00000000000000000001.jsonl.zst");
}

TEST_CASE("what begins a line of the journal") {
    CHECK(parse_line(R"({"v":1,"seq":42,"node":"n"})")->number == 42);
    CHECK(parse_line(R"({"v":2,"seq":1,"x":1})")->version == 2);
    for (const auto* wrong :
         {"", "{}", R"({"seq":42,"v":1,"node":"n"})", R"({"v":1,"seq":-1,"x":1})", R"({"v":1,"seq":42)",
          R"({"v":1,"seq":42})", R"({"v":1,"seq":99999999999999999999,"x":1})", R"( {"v":1,"seq":4,"x":1})",
          R"({"v":1,"seq":4,"x":1)"})
        CHECK_FALSE(parse_line(wrong));
    CHECK(time_of(*parse_line(event(61).substr(0, event(61).size() - 1))) == "2026-11-20T12:01:01.000000Z");
    CHECK(time_of(*parse_line(R"({"v":1,"seq":4,"time":"2026})")) == "");
}

TEST_CASE("the published number") {
    FakeDisk disk;
    make_journal(disk);
    CHECK(*published_number(disk, "history") == std::nullopt);
    disk.set_contents("history/synced", std::string("PRSYNCED\x05\x01\0\0\0\0\0\0", 16));
    CHECK(*published_number(disk, "history") == 261);
    disk.set_contents("history/synced", std::string("PRSYNCED\x05\x01\0\0", 12));
    CHECK(*published_number(disk, "history") == std::nullopt);
    disk.set_contents("history/synced", std::string("PRSYNCEX\x05\x01\0\0\0\0\0\0", 16));
    CHECK(*published_number(disk, "history") == std::nullopt);
}

TEST_CASE("events are read over segments and blocks, from any number to any") {
    FakeDisk disk;
    make_journal(disk);
    put_segment(disk, 1, long_events(1, 1000));
    put_segment(disk, 1001, long_events(1001, 1001));
    put_segment(disk, 70'000, long_events(70'000, 70'010));
    const auto all = read_journal(disk).numbers;
    CHECK(all.size() == 1012);
    CHECK(std::ranges::is_sorted(all));
    for (const std::uint64_t from : {1, 2, 255, 256, 257, 700, 1000, 1001, 1002, 69'999, 70'000, 70'010}) {
        const auto numbers = read_journal(disk, from).numbers;
        CHECK(numbers.front() == *std::ranges::lower_bound(all, from));
        CHECK(numbers.back() == 70'010);
        CHECK(std::ranges::equal(numbers, std::ranges::subrange(std::ranges::lower_bound(all, from), all.end())));
    }
    CHECK(read_journal(disk, 70'011).numbers.empty());
    CHECK(read_journal(disk, 0, 300).numbers == range(1, 300));
    CHECK(read_journal(disk, 0, 0).numbers.empty());
    CHECK(read_journal(disk, 999, 1001).numbers == range(999, 1001));
}

TEST_CASE("a cursor goes on as the journal grows, into a new segment, and only to what is published") {
    FakeDisk disk;
    make_journal(disk);
    put_segment(disk, 1, events(1, 10));
    JournalCursor cursor(disk, "history", 1);
    CHECK(read_on(cursor, 4).numbers == range(1, 4));
    CHECK(cursor.next() == 5);
    CHECK(read_on(cursor, 10).numbers == range(5, 10));
    CHECK(read_on(cursor, 20).numbers.empty());
    put_segment(disk, 1, long_events(1, 2000)); // appended: over several blocks
    JournalCursor fresh(disk, "history", 11);
    CHECK(read_on(fresh, 500).numbers == range(11, 500));
    put_segment(disk, 2001, events(2001, 2003));
    CHECK(read_on(fresh, everything).numbers == range(501, 2003));
    CHECK(read_on(fresh, everything).numbers.empty());
}

TEST_CASE("an empty directory, a segment without a line, none at all") {
    FakeDisk disk;
    make_journal(disk);
    CHECK(read_journal(disk).numbers.empty());
    put_segment(disk, 1, "");
    CHECK(read_journal(disk).numbers.empty());
    put_segment(disk, 1, event(1).substr(0, 20));
    const auto torn = read_journal(disk);
    CHECK(torn.numbers.empty());
    CHECK(torn.damage.empty());
    FakeDisk nothing;
    JournalCursor cursor(nothing, "history", 0);
    const auto read = cursor.read(everything, [](const auto&) {}, [](const auto&) {});
    REQUIRE_FALSE(read);
    CHECK(read.error().code == ENOENT);
}

TEST_CASE("after a failed sync the newer segment repeats numbers, and counts") {
    FakeDisk disk;
    make_journal(disk);
    put_segment(disk, 1, events(1, 20, R"(,"from":"old")"));
    put_segment(disk, 11, events(11, 25, R"(,"from":"new")"));
    JournalCursor cursor(disk, "history", 0);
    std::vector<std::string> seen;
    for (bool more = true; more;) {
        const auto read = cursor.read(
            everything, [&](const JournalLine& line) { seen.emplace_back(line.text); }, [](const Damage&) {});
        REQUIRE(read);
        more = *read;
    }
    REQUIRE(seen.size() == 25);
    CHECK(seen[9].find("old") != std::string::npos);
    CHECK(seen[10].find("new") != std::string::npos);
    CHECK(seen[24].find("new") != std::string::npos);
}

TEST_CASE("torn ends are skipped, damage is named, and reading goes on behind it") {
    FakeDisk disk;
    make_journal(disk);
    put_segment(disk, 1, events(1, 5) + event(6).substr(0, 30)); // torn
    put_segment(disk, 7, events(7, 8) + "garbage\n" + events(10, 11));
    put_segment(disk, 12, events(12, 13) + std::string(5000, '\0')); // what a power cut leaves
    put_segment(disk, 14, events(14, 14));
    const auto reading = read_journal(disk);
    CHECK(reading.numbers == std::vector<std::uint64_t>{1, 2, 3, 4, 5, 7, 8, 10, 11, 12, 13, 14});
    REQUIRE(reading.damage.size() == 1);
    CHECK(reading.damage[0].file == "00000000000000000007.jsonl");
    CHECK(reading.damage[0].why == "a line is not an event: garbage");
}

TEST_CASE("a line that is too long is damage; those around it are read") {
    for (const std::size_t size : {longest_line - 100, longest_line + 100, 2 * block_size, 5 * block_size + 17}) {
        FakeDisk disk;
        make_journal(disk);
        put_segment(disk, 1,
                    long_events(1, 200) + event(201, R"(,"text":")" + std::string(size, 'y') + '"') +
                        long_events(202, 1400));
        const auto reading = read_journal(disk);
        std::vector<std::uint64_t> without = range(1, 1400);
        without.erase(without.begin() + 200);
        if (reading.numbers.size() == 1400)
            CHECK(size < block_size + longest_line);
        else
            CHECK(reading.numbers == without);
        CHECK(reading.damage.size() == (reading.numbers.size() == 1400 ? 0 : 1));
        if (size < longest_line) CHECK(reading.numbers.size() == 1400);
    }
}

TEST_CASE("damage in a block that grows is named once") {
    FakeDisk disk;
    make_journal(disk);
    put_segment(disk, 1, events(1, 2) + "garbage\n");
    JournalCursor cursor(disk, "history", 0);
    CHECK(read_on(cursor, everything).damage.size() == 1);
    CHECK(read_on(cursor, everything).damage.empty());
}

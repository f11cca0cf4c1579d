// Sealing a segment: nothing is lost at any moment, the same blocks before and after, and damage costs one frame.
#include "libspool/journal/segments/sealed_segment.h"
#include "libspool/journal/segments/segment_sealer.h"
#include "tests/libspool/journal/segments/journal_files.h"
#include <algorithm>

using namespace spool;
using namespace spool::test;

namespace {

// Lines that do not compress to nothing.
std::string varied_events(std::uint64_t from, std::uint64_t to) {
    std::string text;
    std::uint64_t state = 88172645463325252u;
    for (auto number = from; number <= to; ++number) {
        std::string more = R"(,"text":")";
        for (int i = 0; i < 40; ++i) {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
            more += fmt::format("{:016x}", state);
        }
        text += event(number, more + '"');
    }
    return text;
}

void put_journal(FakeDisk& disk, const std::string& first_segment) {
    make_journal(disk);
    put_segment(disk, 1, first_segment);
    put_segment(disk, 2001, events(2001, 2010));
}

Result<> seal(FakeDisk& disk, std::uint64_t first) {
    auto sealer = TRY(SegmentSealer::create(disk, "history", first));
    while (TRY(sealer.step())) {
    }
    return sealer.finish();
}

const std::string sealed_file = "history/00000000000000000001.jsonl.zst",
                  frames_file = "history/00000000000000000001.frames";

} // namespace

TEST_CASE("the table of frames as bytes") {
    const FrameTable table{
        .frames = {{1, 0}, {0, 100}, {77, 200}}, .size = 250, .last = 99, .oldest = -5, .newest = 1'700'000'000};
    const auto bytes = encode(table);
    CHECK(decode_frames(bytes) == table);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        CHECK_FALSE(decode_frames(std::string_view(bytes).substr(0, i)));
        auto wrong = bytes;
        wrong[i] = static_cast<char>(wrong[i] ^ 1);
        CHECK_FALSE(decode_frames(wrong));
    }
    CHECK(decode_frames(encode(FrameTable{})) == FrameTable{});
    CHECK_FALSE(decode_frames(encode({.frames = {{1, 100}, {2, 100}}, .size = 200})));
    CHECK_FALSE(decode_frames(encode({.frames = {{1, 0}, {2, 200}}, .size = 200})));
}

TEST_CASE("a sealed segment has the same blocks as the plain one") {
    FakeDisk disk;
    put_journal(disk, varied_events(1, 2000));
    std::vector<std::string> before;
    const auto plain = *open_segment(disk, "history", {.first = 1, .plain = true});
    for (std::uint64_t i = 0; i < *plain->count(); ++i) before.emplace_back(plain->read(i)->text);
    CHECK(before.size() > 4);
    REQUIRE(seal(disk, 1));
    CHECK_FALSE(disk.exists("history/00000000000000000001.jsonl"));
    const auto sealed = *open_segment(disk, "history", {.first = 1, .sealed = true});
    REQUIRE(*sealed->count() == before.size());
    for (std::uint64_t i = 0; i < before.size(); ++i) CHECK(sealed->read(i)->text == before[i]);
    CHECK(read_journal(disk).numbers == range(1, 2010));
    CHECK(read_journal(disk, 1500, 1600).numbers == range(1500, 1600));
    const auto table = **read_frames(disk, "history", 1);
    CHECK(table.last == 2000);
    CHECK(table.newest - table.oldest == 1999);
}

TEST_CASE("power cut at every operation: every event is there, and sealing can be repeated") {
    for (const auto keep : {FakeDisk::Keep::nothing, FakeDisk::Keep::names_without_data, FakeDisk::Keep::everything,
                            FakeDisk::Keep::by_seed}) {
        for (std::uint64_t operation = 0; operation < 200; ++operation) {
            FakeDisk disk;
            put_journal(disk, varied_events(1, 900));
            disk.cut_power_after(operation);
            const bool done = seal(disk, 1).has_value();
            const bool cut = disk.power_is_off();
            disk.restart(keep, operation);
            auto wanted = range(1, 900);
            std::ranges::copy(range(2001, 2010), std::back_inserter(wanted));
            const auto reading = read_journal(disk);
            CHECK(reading.numbers == wanted);
            CHECK(reading.damage.empty());
            if (segments_of(disk.list("history").value())[0].plain) CHECK(seal(disk, 1));
            CHECK(read_journal(disk).numbers == wanted);
            if (done && !cut) break;
            CHECK(operation < 150);
        }
    }
}

TEST_CASE("a failing disk: the plain segment stays") {
    FakeDisk disk;
    put_journal(disk, varied_events(1, 900));
    disk.fail_all(ENOSPC);
    CHECK_FALSE(seal(disk, 1));
    disk.fail_all(0);
    CHECK(read_journal(disk).numbers.size() == 910);
}

TEST_CASE("a damaged frame costs its own lines only, and is named") {
    FakeDisk disk;
    put_journal(disk, varied_events(1, 2000));
    REQUIRE(seal(disk, 1));
    const auto table = **read_frames(disk, "history", 1);
    auto bytes = disk.contents(sealed_file);
    bytes[table.frames[2].offset + 1000] ^= 0x40;
    disk.set_contents(sealed_file, bytes);
    const auto reading = read_journal(disk);
    REQUIRE(reading.damage.size() == 1);
    CHECK(reading.damage[0].offset == table.frames[2].offset);
    CHECK(reading.damage[0].file == "00000000000000000001.jsonl.zst");
    std::vector<std::uint64_t> wanted;
    for (const auto number : range(1, 2010))
        if (number < table.frames[2].number || number >= table.frames[3].number) wanted.push_back(number);
    CHECK(reading.numbers == wanted);
}

TEST_CASE("without its table of frames a sealed segment is read all the same") {
    for (const bool damaged : {false, true}) {
        FakeDisk disk;
        put_journal(disk, varied_events(1, 2000));
        REQUIRE(seal(disk, 1));
        const auto table = **read_frames(disk, "history", 1);
        if (damaged) {
            auto bytes = disk.contents(sealed_file);
            bytes[table.frames[1].offset + 2] ^= 0x01; // of the magic number
            disk.set_contents(sealed_file, bytes);
        }
        REQUIRE(disk.unlink(frames_file));
        const auto reading = read_journal(disk);
        CHECK(reading.damage.front().file == "00000000000000000001.frames");
        if (!damaged) {
            CHECK(reading.damage.size() == 1);
            CHECK(reading.numbers == range(1, 2010));
            CHECK(read_journal(disk, 1900, 1901).numbers == range(1900, 1901));
        } else {
            CHECK(reading.numbers.size() >= 2010 - (table.frames[2].number - table.frames[1].number));
            CHECK(reading.numbers.size() < 2010);
        }
    }
}

TEST_CASE("a sealed segment that was cut off") {
    FakeDisk disk;
    put_journal(disk, varied_events(1, 2000));
    REQUIRE(seal(disk, 1));
    const auto table = **read_frames(disk, "history", 1);
    disk.set_contents(sealed_file, disk.contents(sealed_file).substr(0, table.frames[3].offset + 10));
    const auto reading = read_journal(disk);
    CHECK_FALSE(reading.damage.empty());
    CHECK(reading.numbers.size() == table.frames[3].number - 1 + 10);
}

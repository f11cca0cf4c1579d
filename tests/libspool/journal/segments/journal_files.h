// Journals as the queue-manager writes them, on a fake disk.
#pragma once
#include "libspool/journal/segments/journal_cursor.h"
#include "tests/libspool/disk/fake_disk.h"
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <limits>
#include <string>
#include <vector>

namespace spool::test {

inline constexpr std::uint64_t everything = std::numeric_limits<std::uint64_t>::max();

inline std::string event(std::uint64_t number, std::string_view more = "") {
    return fmt::format(
        R"({{"v":1,"seq":{},"node":"n","time":"2026-11-20T12:{:02}:{:02}.000000Z","type":"message.x"{}}})"
        "\n",
        number, number / 60 % 60, number % 60, more);
}

inline std::string events(std::uint64_t from, std::uint64_t to, std::string_view more = "") {
    std::string text;
    for (auto number = from; number <= to; ++number) text += event(number, more);
    return text;
}

// Durable, whatever happens to the disk.
inline void make_journal(FakeDisk& disk) {
    REQUIRE(disk.make_directory("history", 0700));
    const auto top = disk.open(".", Open::directory);
    REQUIRE(top);
    REQUIRE(disk.sync(*top));
}

inline void put_segment(FakeDisk& disk, std::uint64_t first, std::string text) {
    disk.set_contents("history/" + segment_file(first, plain_suffix), std::move(text));
}

struct Reading {
    std::vector<std::uint64_t> numbers;
    std::vector<Damage> damage;
};

inline Reading read_on(JournalCursor& cursor, std::uint64_t through) {
    Reading reading;
    for (bool more = true; more;) {
        const auto read = cursor.read(
            through, [&](const JournalLine& line) { reading.numbers.push_back(line.number); },
            [&](const Damage& damage) { reading.damage.push_back(damage); });
        REQUIRE(read);
        more = *read;
    }
    return reading;
}

inline Reading read_journal(FakeDisk& disk, std::uint64_t from = 0, std::uint64_t through = everything) {
    JournalCursor cursor(disk, "history", from);
    return read_on(cursor, through);
}

inline std::vector<std::uint64_t> range(std::uint64_t from, std::uint64_t to) {
    std::vector<std::uint64_t> numbers;
    for (auto number = from; number <= to; ++number) numbers.push_back(number);
    return numbers;
}

} // namespace spool::test

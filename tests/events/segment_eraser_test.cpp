// An address erased from a sealed segment and from dead letters, on a disk that loses its power at any moment.
#include "daemons/events/segment_eraser.h"
#include "libspool/journal/segments/sealed_segment.h"
#include "libspool/journal/segments/segment_sealer.h"
#include "tests/libspool/journal/segments/journal_files.h"
#include <nlohmann/json.hpp>

using namespace spool;
using namespace spool::test;
using history::Erasure;
using Keep = FakeDisk::Keep;

namespace {

constexpr std::uint64_t last = 3000; // several frames
constexpr std::string_view ann = R"(,"recipient":"ann@example.org")", bob = R"(,"recipient":"bob@x.example")";
const std::string sealed_file = "history/00000000000000000001.jsonl.zst",
                  frames_file = "history/00000000000000000001.frames",
                  index_file = "history/00000000000000000001.index";
std::atomic<bool> going_on = false;

bool is_anns(std::uint64_t number) { return number % 500 == 7; }

std::string written(std::uint64_t number) {
    if (number > last) return event(number, bob);
    return event(number, std::string(is_anns(number) ? ann : bob) + R"(,"x":")" + std::string(200, 'x') + '"');
}

void make_sealed(FakeDisk& disk) {
    make_journal(disk);
    std::string text;
    for (std::uint64_t number = 1; number <= last; ++number) text += written(number);
    put_segment(disk, 1, text);
    put_segment(disk, last + 1, written(last + 1));
    auto sealer = *SegmentSealer::create(disk, "history", 1);
    while (*sealer.step()) {
    }
    REQUIRE(sealer.finish());
    disk.set_contents(index_file, "an index that names the address's hash");
    REQUIRE(disk.sync(*disk.open("history", Open::directory)));
}

// How many lines name the address; all numbers are there once, and nobody else's event has changed.
std::uint64_t named_in(FakeDisk& disk) {
    std::uint64_t named = 0, expected = 1, changed = 0;
    JournalCursor cursor(disk, "history", 0);
    for (bool more = true; more;) {
        const auto read = cursor.read(
            everything,
            [&](const JournalLine& line) {
                if (!is_anns(line.number)) {
                    changed += line.number != expected++ || std::string(line.text) + '\n' != written(line.number);
                    return;
                }
                CHECK(line.number == expected++);
                const auto parsed = nlohmann::json::parse(line.text);
                named += parsed.value("recipient", "") == "ann@example.org";
                CHECK(history::is_erased(parsed) == !parsed.contains("recipient"));
                CHECK(parsed.at("time").is_string());
                CHECK(parsed.at("type") == "message.x");
            },
            [](const Damage& damage) { CHECK(damage.why == "the table of frames is missing or damaged"); });
        REQUIRE(read);
        more = *read;
    }
    CHECK(expected == last + 2);
    CHECK(changed == 0);
    return named;
}

} // namespace

TEST_CASE(
    "the segment is as before or without the address whenever the power goes, and a second attempt completes it") {
    const Erasure erasure("ann@example.org", nullptr);
    for (const auto keep : {Keep::nothing, Keep::names_without_data, Keep::everything, Keep::by_seed})
        for (std::uint64_t n = 0;; ++n) {
            CAPTURE(n);
            FakeDisk disk;
            make_sealed(disk);
            disk.cut_power_after(n);
            const auto done = events::erase_from_segment(disk, "history", 1, erasure, going_on);
            const bool whole = !disk.power_is_off();
            if (whole) {
                REQUIRE(done);
                CHECK(done->events == 6);
            }
            disk.restart(keep, n);
            const auto left = named_in(disk);
            CHECK((left == 0 || left == 6));
            if (whole) CHECK(left == 0);
            // An index that is there is one of the file that is there.
            if (disk.exists(index_file)) CHECK(left == 6);
            REQUIRE(events::erase_from_segment(disk, "history", 1, erasure, going_on));
            CHECK(named_in(disk) == 0);
            CHECK_FALSE(disk.exists(index_file));
            const auto table = *read_frames(disk, "history", 1);
            REQUIRE(table);
            CHECK(table->size == disk.contents(sealed_file).size());
            CHECK(table->last == last);
            if (whole) break;
        }
}

TEST_CASE("a segment without the address is left as it is") {
    FakeDisk disk;
    make_sealed(disk);
    const auto before = disk.operations();
    const auto done = events::erase_from_segment(disk, "history", 1, Erasure("nobody@example.org", nullptr), going_on);
    REQUIRE(done);
    CHECK(done->events == 0);
    CHECK(disk.operations() == before);
}

TEST_CASE("what is given up has changed nothing") {
    FakeDisk disk;
    make_sealed(disk);
    const std::atomic<bool> give_up = true;
    const auto done = events::erase_from_segment(disk, "history", 1, Erasure("ann@example.org", nullptr), give_up);
    REQUIRE(done);
    CHECK(done->given_up);
    CHECK(named_in(disk) == 6);
    CHECK(disk.exists(index_file));
}

TEST_CASE("a full disk leaves the segment as it was") {
    FakeDisk disk;
    make_sealed(disk);
    disk.fail_all(ENOSPC);
    CHECK_FALSE(events::erase_from_segment(disk, "history", 1, Erasure("ann@example.org", nullptr), going_on));
    disk.fail_all(0);
    CHECK(named_in(disk) == 6);
}

TEST_CASE("a dead letter keeps its time and place, whenever the power goes") {
    const Erasure erasure("ann@example.org", nullptr);
    const std::string path = "history/dead/shop.jsonl";
    const auto letter = [](std::uint64_t number, std::string_view more, std::string_view reason) {
        auto line = event(number, more);
        line.pop_back();
        return R"({"time":"2026-11-20T12:00:00Z","reason":")" + std::string(reason) + R"(","event":)" + line + "}\n";
    };
    const auto bobs = letter(1, bob, "422"), anns = letter(2, ann, "422"), mention = letter(3, bob, "ann@example.org");
    for (std::uint64_t n = 0;; ++n) {
        CAPTURE(n);
        FakeDisk disk;
        make_journal(disk);
        REQUIRE(disk.make_directory("history/dead", 0700));
        REQUIRE(disk.sync(*disk.open("history", Open::directory)));
        disk.set_contents(path, bobs + anns + mention);
        REQUIRE(disk.sync(*disk.open("history/dead", Open::directory)));
        std::mutex writing;
        disk.cut_power_after(n);
        const auto done = events::erase_from_dead_letters(disk, "history", erasure, writing);
        const bool whole = !disk.power_is_off();
        if (whole) CHECK(done == 2);
        disk.restart(Keep::by_seed, n);
        const bool before = disk.contents(path) == bobs + anns + mention;
        CHECK((before || disk.contents(path).find("ann@example.org") == std::string::npos));
        CHECK(events::erase_from_dead_letters(disk, "history", erasure, writing) == (before ? 2 : 0));
        const auto text = disk.contents(path);
        CHECK(text.starts_with(bobs));
        CHECK(text.find("ann@example.org") == std::string::npos);
        CHECK(text.find(R"({"time":"2026-11-20T12:00:00Z","event":{"v":1,"seq":2,)") != std::string::npos);
        CHECK(std::ranges::count(text, '\n') == 3);
        if (whole) break;
    }
}

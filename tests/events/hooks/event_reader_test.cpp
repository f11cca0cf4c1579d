// What a hook reads from the journal, and what it gets in place of what is missing.
#include "daemons/events/hooks/event_reader.h"
#include "libspool/disk/real_disk.h"
#include "tests/temporary_directory.h"
#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace events;

namespace {

struct Journal {
    TemporaryDirectory directory;
    std::unique_ptr<spool::RealDisk> disk = *spool::RealDisk::open_at(directory.path());

    static std::string line(std::uint64_t number, std::string_view type, std::string_view submitter) {
        return fmt::format(R"({{"v":1,"seq":{},"node":"n","time":"2026-11-26T12:00:00.000000Z","type":"message.{}",)"
                           R"("submitter":"{}","recipient":"ann@example.org","text":"{}"}})",
                           number, type, submitter, std::string(200, 'x'));
    }
    void segment(std::uint64_t from, std::uint64_t to) {
        std::string text;
        for (auto n = from; n <= to; ++n)
            text += line(n, n % 10 == 0 ? "failed" : "delivered", n % 20 == 0 ? "sasl:shop" : "uid:0") + "\n";
        directory.write(spool::segment_file(from, spool::plain_suffix), text);
    }
    EventReader reader(std::vector<std::string> patterns = {"*"}, const std::vector<std::string>& words = {}) {
        return {*disk, EventSelection(std::move(patterns), words), "n"};
    }
    static ReadEvents read(EventReader& reader, std::uint64_t from, std::uint64_t through) {
        auto read = reader.read(from, through, "2026-11-26T18:00:00Z");
        REQUIRE(read);
        return *std::move(read);
    }
};

// Everything, as a hook with room does it.
std::vector<std::uint64_t> all(EventReader reader, std::uint64_t from, std::uint64_t through) {
    std::vector<std::uint64_t> numbers;
    for (;;) {
        const auto read = Journal::read(reader, from, through);
        for (const auto& event : read.events) numbers.push_back(event.number);
        if (read.through == 0) return numbers;
        CHECK(read.through >= from);
        from = read.through + 1;
    }
}

} // namespace

TEST_CASE("events are read over segments, up to the number that is published") {
    Journal journal;
    journal.segment(1, 3000);
    journal.segment(3001, 3500);
    const auto numbers = all(journal.reader(), 5, 3400);
    CHECK(numbers.size() == 3396);
    CHECK(numbers.front() == 5);
    CHECK(numbers.back() == 3400);
    auto reader = journal.reader();
    CHECK(Journal::read(reader, 3401, 3400).through == 0);
    const auto one = Journal::read(reader, 7, 7);
    REQUIRE(one.events.size() == 1);
    CHECK(one.events[0].line == Journal::line(7, "delivered", "uid:0"));
}

TEST_CASE("events are selected by their names and by words") {
    Journal journal;
    journal.segment(1, 3000);
    CHECK(all(journal.reader({"message.failed"}), 1, 3000).size() == 300);
    CHECK(all(journal.reader({"message.failed", "message.d*"}), 1, 3000).size() == 3000);
    CHECK(all(journal.reader({"link.*"}), 1, 3000).empty());
    CHECK(all(journal.reader({"*"}, {"submitter=sasl:shop"}), 1, 3000).size() == 150);
    CHECK(all(journal.reader({"*"}, {"submitter=sasl:shop", "submitter=uid:0", "type=failed"}), 1, 3000).size() == 300);
    CHECK(all(journal.reader({"*"}, {"submitter=sasl:shop", "domain=other.example"}), 1, 3000).empty());
}

TEST_CASE("what has been removed is one event in its place") {
    Journal journal;
    journal.segment(1001, 1100);
    auto reader = journal.reader({"link.*"});
    const auto read = Journal::read(reader, 17, 1100);
    REQUIRE(read.events.size() == 1);
    CHECK(read.events[0].number == 1000);
    CHECK(read.events[0].line ==
          R"({"v":1,"seq":1000,"node":"n","time":"2026-11-26T18:00:00Z","type":"hook.gap","from":17,"to":1000,)"
          R"("why":"the journal no longer has these events"})");
    CHECK(read.gap == 984);
    CHECK(read.through == 1000);
    CHECK(Journal::read(reader, 1001, 1100).events.empty());
}

TEST_CASE("what is damaged is one event in its place") {
    Journal journal;
    std::string text;
    for (std::uint64_t n = 1; n <= 9; ++n)
        text += n >= 4 && n <= 6 ? std::string("\0\0\0 rubbish\n", 12) : Journal::line(n, "delivered", "uid:0") + "\n";
    journal.directory.write(spool::segment_file(1, spool::plain_suffix), text);
    auto reader = journal.reader();
    const auto read = Journal::read(reader, 1, 9);
    REQUIRE(read.events.size() == 7);
    CHECK(read.events[3].number == 6);
    CHECK(read.events[3].line.find(R"("from":4,"to":6,"why":"this part of the journal is damaged")") !=
          std::string::npos);
    CHECK(read.damage.size() == 3);
    CHECK(read.through == 9);
}

TEST_CASE("numbers that a segment leaves out are no gap") {
    Journal journal;
    journal.segment(1, 10);
    journal.segment(65'547, 65'550);
    CHECK(all(journal.reader(), 1, 65'550).size() == 14);
}

TEST_CASE("without segments there is nothing to read") {
    Journal journal;
    auto reader = journal.reader();
    CHECK(Journal::read(reader, 1, 10).through == 0);
}

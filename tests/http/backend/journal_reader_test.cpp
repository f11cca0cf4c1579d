// Questions to a journal on disk, and those that nobody waits for any longer.
#include "daemons/common/runtime/timer.h"
#include "daemons/http/backend/journal_reader.h"
#include "libspool/journal/segments/segment_list.h"
#include "tests/temporary_directory.h"
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fstream>
#include <set>

using namespace std::chrono_literals;
using http::JournalReader;

namespace {

struct Place {
    TemporaryDirectory directory;
    common::Loop loop;
    JournalReader reader;

    explicit Place(int events, int messages = 1'000'000, smtp::Duration slice = JournalReader::usual_slice)
        : reader(loop, directory.path().string(), slice) {
        std::ofstream out(directory.path() / spool::segment_file(1, spool::plain_suffix));
        for (int i = 1; i <= events; ++i)
            out << fmt::format(R"({{"v":1,"seq":{},"node":"n","time":"2026-11-20T12:00:00.000000Z",)"
                               R"("type":"message.delivered","id":"0C5A{:06}1010","recipient":"r@d{}.example"}})"
                               "\n",
                               i, i % messages, i % 3);
        std::ofstream synced(directory.path() / "synced", std::ios::binary);
        std::string number(8, '\0');
        for (std::size_t i = 0; i < 8; ++i) number[i] = static_cast<char>(events >> (i < 4 ? 8 * i : 31));
        synced << "PRSYNCED" << number;
    }
    void until_idle() {
        common::Timer limit(loop, [this] { loop.stop(); });
        limit.start(5min);
        while (reader.open() > 0 && limit.armed()) uv_run(&loop.uv(), UV_RUN_ONCE);
        REQUIRE(reader.open() == 0);
    }
};

JournalReader::Cancelled flag(bool cancelled = false) { return std::make_shared<std::atomic<bool>>(cancelled); }

} // namespace

TEST_CASE("searches and counts") {
    Place place(30);
    JournalReader::Answer found, counted, wrong;
    place.reader.search({"domain=d1.example"}, {.limit = 4}, flag(), [&](auto answer) { found = std::move(answer); });
    place.reader.summarize({}, {{"domain"}, {"type", {"message.failed"}}}, 2, 1h, flag(),
                           [&](auto answer) { counted = std::move(answer); });
    place.reader.summarize({}, {{"domain"}, {"colour"}}, 2, {}, flag(),
                           [&](auto answer) { wrong = std::move(answer); });
    place.until_idle();
    CHECK(found.failed == "");
    CHECK(found.messages.size() == 4);
    CHECK(found.next == 16); // of 28, 25, 22 and 19, the next one
    REQUIRE(counted.summaries.size() == 2);
    CHECK(counted.summaries[0]["groups"].size() == 2);
    CHECK(counted.summaries[0]["groups"][0]["delivered"] == 10);
    CHECK(counted.summaries[0]["groups_total"] == 3);
    CHECK(counted.summaries[1]["groups_total"] == 0);
    CHECK(counted.complete);
    CHECK(wrong.wrong.starts_with("by: expected one of class, link"));
}

TEST_CASE("a search whose client has gone is given up, and one that waits does not begin") {
    Place place(30);
    int answers = 0;
    const auto gone = flag(true);
    for (std::size_t i = 0; i < 10 * JournalReader::most_waiting; ++i) // none of them takes a place
        place.reader.search({"domain=d1.example"}, {.limit = 4}, gone, [&](const auto&) { ++answers; });
    JournalReader::Answer found;
    place.reader.search({"domain=d1.example"}, {.limit = 4}, flag(), [&](auto answer) { found = std::move(answer); });
    place.until_idle();
    CHECK(answers == 0);
    CHECK(found.messages.size() == 4);
    const auto running = flag();
    JournalReader::Answer given_up;
    place.reader.summarize({}, {{"domain"}}, 2, {}, running, [&](auto answer) { given_up = std::move(answer); });
    running->store(true);
    place.until_idle();
    CHECK((given_up.failed == "the search was cancelled" || !given_up.summaries.empty())); // it may have been done
}

TEST_CASE("a count that takes too long ends with what it has counted, and says so") {
    Place place(30);
    JournalReader::Answer counted;
    place.reader.summarize({}, {{"domain"}}, 2, 1us, flag(), [&](auto answer) { counted = std::move(answer); });
    place.until_idle();
    CHECK(counted.failed == "");
    CHECK(!counted.complete);
    CHECK(counted.summaries.size() == 1);
}

TEST_CASE("counts of much do not delay others: they take turns") {
    Place place(20'000, 1'000'000, smtp::Duration::zero());
    int counted = 0, counted_before = -1, searched_before = -1;
    bool same = true;
    for (int i = 0; i < 10; ++i) {
        place.reader.summarize({}, {{"domain"}}, 1, {}, flag(), [&](const auto& answer) {
            ++counted;
            same = same && answer.summaries[0]["groups"][0]["events"] == 6667 && answer.complete;
        });
        place.reader.search({"domain=d1.example"}, {.limit = 20'000}, flag(), [&](const auto& answer) {
            ++counted;
            same = same && answer.messages.size() == 6667;
        });
    }
    place.reader.message("0C5A0000011010", [&](const auto& answer) {
        CHECK(answer.messages.size() == 1);
        counted_before = counted;
    });
    place.reader.search({"recipient=r@d2.example"}, {.limit = 1}, flag(), [&](const auto& answer) {
        CHECK(answer.messages.size() == 1);
        searched_before = counted;
    });
    place.until_idle();
    CHECK(counted == 20);
    CHECK(same);
    CHECK(counted_before >= 0);
    CHECK(counted_before < 5); // one after the other it would be 19
    CHECK(searched_before < 5);
}

TEST_CASE("a search goes on, and shows no message again that has older events, too") {
    Place place(30, 7); // ids are used again: the same seven messages, over and over
    std::set<std::string> shown;
    JournalReader::Part part{.limit = 3};
    std::size_t pages = 0;
    for (bool more = true; more; ++pages) {
        JournalReader::Answer found;
        place.reader.search({"type=message.delivered"}, part, flag(), [&](auto answer) { found = std::move(answer); });
        place.until_idle();
        CHECK(found.failed == "");
        for (const auto& each : found.messages) CHECK(shown.insert(each.history.id()).second);
        more = found.next != 0;
        part.from = found.next;
        part.newest = found.newest;
        REQUIRE(pages < 5);
    }
    CHECK(shown.size() == 7);
    CHECK(pages == 3);
}

TEST_CASE("a message that gets a newer event while its reader goes on is still shown") {
    Place place(30, 7);
    JournalReader::Answer late, known;
    // The first part began at event 20 and ended at 14: what has come after 20 was in no part.
    place.reader.search({"type=message.delivered"}, {.limit = 10, .from = 14, .newest = 20}, flag(),
                        [&](auto answer) { late = std::move(answer); });
    // The first part had everything down to 14.
    place.reader.search({"type=message.delivered"}, {.limit = 10, .from = 14, .newest = 1000}, flag(),
                        [&](auto answer) { known = std::move(answer); });
    place.until_idle();
    CHECK(late.messages.size() > known.messages.size());
    CHECK(known.messages.empty());
}

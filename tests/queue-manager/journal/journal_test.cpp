// The queue-manager's journal: what waits for a line waits until it is durable, and for nothing else.
#include "tests/queue-manager/journal/bench.h"
#include <doctest/doctest.h>

using queue_manager::Journal;
using queue_manager::test::JournalBench;

TEST_CASE("what waits is done when the lines before it are on stable storage, in order") {
    JournalBench b;
    b.journal.begin();
    b.drain();
    std::vector<int> done;
    b.journal.when_durable([&] { done.push_back(0); }); // there is no line to wait for
    CHECK(done == std::vector{0});
    b.add();
    b.journal.when_durable([&] { done.push_back(1); });
    b.add();
    b.journal.when_durable([&] { done.push_back(2); });
    CHECK(done == std::vector{0});
    CHECK(b.write());
    CHECK(done == std::vector{0, 1, 2});
    b.disk.restart(spool::test::FakeDisk::Keep::nothing);
    CHECK(b.lines().size() == 2);
}

TEST_CASE("many that wait are not made to wait for the next interval") {
    JournalBench b;
    b.journal.begin();
    b.drain();
    std::size_t done = 0;
    for (std::size_t n = 0; n < Journal::worth_a_sync; ++n) {
        b.add();
        b.journal.when_durable([&] { ++done; });
    }
    b.drain();
    CHECK(done == Journal::worth_a_sync);
    CHECK(b.lines().size() == Journal::worth_a_sync);
}

TEST_CASE("lines are written when there are many, although nothing waits for them") {
    JournalBench b;
    b.journal.begin();
    b.drain();
    for (std::uint64_t n = 0; n < Journal::most_lines; ++n) b.add();
    b.drain();
    CHECK(b.lines().size() == Journal::most_lines);
}

TEST_CASE("mail waits for no journal that cannot be written, and a gap names what is missing") {
    JournalBench b;
    b.journal.begin();
    b.drain();
    b.add();
    b.disk.fail_all(ENOSPC);
    bool first = false, second = false;
    b.journal.when_durable([&] { first = true; });
    CHECK_FALSE(first);
    b.write();
    CHECK(first);
    CHECK(b.problem.starts_with("the journal cannot be written: "));
    b.add();
    b.journal.when_durable([&] { second = true; });
    CHECK(second); // at once
    b.disk.fail_all(0);
    b.journal.finish();
    CHECK(b.problem.empty());
    const auto lines = b.lines();
    REQUIRE(lines.size() == 2); // the second event, and the gap
    CHECK(lines[0].at("seq") == 2);
    CHECK(lines[1].at("type") == "journal.gap");
    CHECK(lines[1].at("from") == 1);
    CHECK(lines[1].at("to") == 1);
}

TEST_CASE("a journal that cannot be opened counts what it does not record") {
    JournalBench b;
    b.disk.fail_all(EIO);
    b.journal.begin();
    CHECK_FALSE(b.problem.empty());
    b.add();
    b.add();
    bool done = false;
    b.journal.when_durable([&] { done = true; });
    CHECK(done);
    CHECK(b.journal.drain());
    b.disk.fail_all(0);
    b.journal.begin(); // as its timer does
    b.drain();
    const auto lines = b.lines();
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].at("count") == 2);
    CHECK(b.problem.empty());
}

TEST_CASE("a journal that can be opened again has recovered, also if there is nothing to record") {
    JournalBench b;
    b.disk.fail_all(EIO);
    b.journal.begin();
    CHECK_FALSE(b.problem.empty());
    b.disk.fail_all(0);
    b.journal.begin(); // as its timer does
    CHECK(b.problem.empty());
}

TEST_CASE("too much that waits pauses deliveries, until half of it is done") {
    JournalBench b;
    b.journal.begin();
    b.drain();
    std::size_t done = 0;
    b.add();
    b.journal.when_durable([&] { ++done; });
    b.journal.drain(); // the writer has the first line from now on, and its end is not known
    for (std::size_t n = 0; n < Journal::most_waiting; ++n) {
        b.add();
        b.journal.when_durable([&] { ++done; });
    }
    CHECK(b.pauses == std::vector{true});
    b.drain();
    while (!b.write()) {
    }
    CHECK(done == Journal::most_waiting + 1);
    CHECK(b.pauses == std::vector{true, false});
}

TEST_CASE("an orderly stop leaves no gap, a journal that is off no file") {
    {
        JournalBench b;
        b.journal.begin();
        b.drain();
        b.add();
        b.journal.finish();
        CHECK(b.disk.exists("history/stopped"));
        CHECK(b.lines().size() == 1);
    }
    JournalBench off(config::History{.enabled = false});
    off.journal.begin();
    off.add();
    bool done = false;
    off.journal.when_durable([&] { done = true; });
    CHECK(done);
    CHECK(off.journal.drain());
    off.journal.finish();
    CHECK(off.disk.paths().empty());
}

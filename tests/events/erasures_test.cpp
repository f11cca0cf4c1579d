// What is to be erased is remembered, whatever happens to the process and the machine.
#include "daemons/events/erasures.h"
#include "tests/libspool/disk/fake_disk.h"
#include <cerrno>
#include <doctest/doctest.h>
#include <string>

using namespace events;
using spool::test::FakeDisk;

namespace {

void prepare(FakeDisk& disk) {
    REQUIRE(disk.make_directory("history", 0700));
    REQUIRE(disk.sync(*disk.open(".", spool::Open::directory)));
}

const std::vector<ErasureRequest> some = {
    {.address = "ann@example.org", .through = 100, .next = 50, .events = 3, .segments = 2, .given_up = 1},
    {.address = "\"b \\\" c\"@example.org", .through = 18'446'744'073'709'551'615U}};

} // namespace

TEST_CASE("the list is read as it was written, and nothing else is taken for one") {
    const auto text = encode(some);
    CHECK(decode_erasures(text) == some);
    const std::vector<ErasureRequest> none;
    CHECK(decode_erasures(encode(none)) == none);
    for (std::size_t size = 0; size < text.size(); ++size) CHECK_FALSE(decode_erasures(text.substr(0, size)));
    for (const auto* odd : {"[]\n", "{}\n", "{\"v\":2,\"requests\":[]}\n", "{\"v\":1,\"requests\":{}}\n",
                            "{\"v\":1,\"requests\":[1]}\n", "{\"v\":1,\"requests\":[{\"address\":\"a\"}]}\n",
                            "{\"v\":1,\"requests\":[{\"address\":\"a\",\"through\":-1,\"next\":0}]}\n"})
        CHECK_FALSE(decode_erasures(odd));
}

TEST_CASE("what was promised is known after a restart; what is done is not done again") {
    for (std::uint64_t n = 0;; ++n) {
        CAPTURE(n);
        FakeDisk disk;
        prepare(disk);
        disk.cut_power_after(n);
        bool added = false, finished = false;
        {
            Erasures erasures;
            added = erasures.add(disk, "history", "ann@example.org", 100).has_value();
            if (auto current = erasures.current(); added && current) {
                current->next = 51;
                current->events = 2;
                static_cast<void>(erasures.update(disk, "history", *current, Erasures::Progress::some));
                finished = erasures.update(disk, "history", *current, Erasures::Progress::finished).has_value();
                if (finished) CHECK(erasures.state_of("ann@example.org")->finished);
            }
        }
        const bool whole = !disk.power_is_off();
        disk.restart(FakeDisk::Keep::by_seed, n);
        Erasures again;
        REQUIRE(again.load(disk, "history"));
        const auto current = again.current();
        if (added && !finished && current) CHECK(current->address == "ann@example.org");
        if (finished) CHECK_FALSE(current);
        if (current) CHECK((current->next == 0 || current->next == 51));
        if (whole) {
            CHECK(finished);
            break;
        }
    }
}

TEST_CASE("one that is asked for again while it is worked on covers what came later, too") {
    FakeDisk disk;
    prepare(disk);
    Erasures erasures;
    REQUIRE(erasures.add(disk, "history", "ann@example.org", 100));
    const auto current = *erasures.current();
    REQUIRE(erasures.add(disk, "history", "ann@example.org", 200));
    REQUIRE(erasures.update(disk, "history", current, Erasures::Progress::finished));
    REQUIRE(erasures.current());
    CHECK(erasures.current()->through == 200);
    CHECK_FALSE(erasures.state_of("ann@example.org")->finished);
}

TEST_CASE("there is a limit, and what exceeds it is refused alone") {
    FakeDisk disk;
    prepare(disk);
    Erasures erasures;
    for (std::size_t n = 0; n < Erasures::most; ++n)
        REQUIRE(erasures.add(disk, "history", std::to_string(n) + "@example.org", 1));
    const auto more = erasures.add(disk, "history", "more@example.org", 1);
    REQUIRE_FALSE(more);
    CHECK(more.error().code == EAGAIN);
    CHECK(erasures.add(disk, "history", "5@example.org", 2));
}

TEST_CASE("a list that is damaged is an error that says what to do") {
    FakeDisk disk;
    prepare(disk);
    disk.set_contents("history/erasing", "{\"v\":1,");
    Erasures erasures;
    const auto loaded = erasures.load(disk, "history");
    REQUIRE_FALSE(loaded);
    CHECK(loaded.error().what.find("remove it, and repeat") != std::string::npos);
    CHECK_FALSE(erasures.add(disk, "history", "ann@example.org", 1));
}

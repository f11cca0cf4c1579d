#include "daemons/common/terminal/text.h"
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace postrider;
using nlohmann::json;

TEST_CASE("ages, sizes, counts") {
    CHECK(age_text(-1) == "-");
    CHECK(age_text(99) == "99s");
    CHECK(age_text(100) == "1m");
    CHECK(age_text(3 * 3600 + 300) == "3h05m");
    CHECK(age_text(5 * 86400) == "5d00h");
    CHECK(duration_text(45) == "45 s");
    CHECK(duration_text(3 * 3600 + 720) == "3 h 12 min");
    CHECK(size_text(999) == "999");
    CHECK(size_text(4200) == "4.1K");
    CHECK(size_text(12'000'000) == "11M");
    CHECK(count_text(1, "message") == "1 message");
    CHECK(count_text(0, "message") == "0 messages");
    CHECK(time_text(0) == "-");
}

TEST_CASE("a text is cut to its place, by characters, and cannot control the terminal") {
    CHECK(truncated("abcdef", 6) == "abcdef");
    CHECK(truncated("abcdefg", 6) == "abcde…");
    CHECK(truncated("abcdefg\n", 0) == "abcdefg?");
    CHECK(truncated("grün-grün", 5) == "grün…");
    CHECK(truncated("a\x1b[2Jb\n", 20) == "a?[2Jb?");
}

TEST_CASE("a table") {
    Table table({"Name", ">Count", "Why"});
    CHECK(table.empty());
    table.row({"a", "5", "because"});
    table.row({"longer", "1234", ""});
    CHECK(table.text(0) == "Name    Count  Why\na           5  because\nlonger   1234\n");
    CHECK(table.text(20, "  ") == "  Name    Count  Why\n  a           5  be…\n  longer   1234\n");
}

TEST_CASE("members that are not there or of another kind") {
    const json object = {{"n", 5}, {"t", "x"}, {"f", true}, {"l", {1, 2}}};
    CHECK(number_of(object, "n") == 5);
    CHECK(number_of(object, "t") == 0);
    CHECK(text_of(object, "n") == "");
    CHECK(flag_of(object, "f"));
    CHECK(!flag_of(object, "z"));
    CHECK(list_of(object, "l").size() == 2);
    CHECK(list_of(object, "t").empty());
}

TEST_CASE("why a link's or queue's mail waits: the pause before the last error, and that before all else") {
    const json failed = {{"last_error", "refused"}, {"idle_reason", "not due yet"}, {"paused", false}};
    CHECK(wait_reason(failed) == "refused");
    json paused = failed;
    paused["paused"] = true;
    CHECK(wait_reason(paused) == "not due yet");
    CHECK(wait_reason({{"last_error", ""}, {"idle_reason", "nothing is due"}, {"paused", false}}) == "nothing is due");
}

#include "daemons/common/logging/problems.h"
#include <doctest/doctest.h>
#include <vector>

TEST_CASE("what is wrong is told whole, when it changes, and one that is well again takes no other's line away") {
    std::vector<std::string> told;
    common::Problems problems([&](std::string_view text) { told.emplace_back(text); });
    const auto aliases = problems.reporter("aliases");
    CHECK_FALSE(problems.any());
    aliases("");
    CHECK(told.empty());
    problems.set("tables", "table text:/v: gone");
    aliases("aliases: gone");
    aliases("aliases: gone");
    CHECK(problems.any());
    problems.set("tables", "");
    aliases("");
    CHECK(told ==
          std::vector<std::string>{"table text:/v: gone", "aliases: gone; table text:/v: gone", "aliases: gone", ""});
    CHECK_FALSE(problems.any());
}

TEST_CASE("what a successor has replaced is not heard any more") {
    std::string told;
    common::Problems problems([&](std::string_view text) { told = text; });
    const auto former = problems.new_reporter("milters");
    former("one is away");
    CHECK(told == "one is away");
    const auto present = problems.new_reporter("milters");
    CHECK(told.empty());
    former("one is still away");
    CHECK(told.empty());
    present("two is away");
    former("");
    CHECK(told == "two is away");
    present("");
    CHECK(told.empty());
}

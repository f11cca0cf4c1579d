#include "daemons/queue-manager/spool/problem_list.h"
#include <doctest/doctest.h>

using namespace queue_manager;

TEST_CASE("problem list: one text for each subject, until it is cleared") {
    std::string shown = "nothing yet";
    ProblemList problems([&](std::string_view all) { shown = all; });
    problems.report("disk", "the disk is full");
    problems.report("lock", "another one has it");
    CHECK(shown == "the disk is full; another one has it");
    problems.report("disk", "the disk is read-only");
    CHECK(shown == "the disk is read-only; another one has it");
    CHECK(problems.contains("disk"));
    CHECK(problems.contains("disk", "the disk is read-only"));
    CHECK_FALSE(problems.contains("disk", "the disk is full"));
    problems.report("disk", "");
    problems.report("spool", "");
    CHECK_FALSE(problems.contains("disk"));
    CHECK(problems.texts() == std::vector<std::string>{"another one has it"});
    problems.report("lock", "");
    CHECK(shown.empty());
    shown = "as it was";
    problems.report("lock", "");
    CHECK(shown == "as it was"); // nothing has changed, so nothing is reported
    problems.report("lock", "another one has it");
    shown = "as it was";
    problems.report("lock", "another one has it");
    CHECK(shown == "as it was");
}

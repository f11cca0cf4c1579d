#include "daemons/postrider/queue/ages.h"
#include <algorithm>
#include <doctest/doctest.h>

using namespace postrider;

TEST_CASE("mail falls into brackets of age by domain") {
    AgeTable table;
    table.add("ann@Example.ORG", 0);
    table.add("bob@example.org", 299);
    table.add("bob@example.org", 300);
    table.add("\"a@b\"@example.org", -1); // a clock that was set back
    table.add("x@b.example", 1280 * 60);
    table.add("x@b.example", 1280 * 60 - 1);
    table.add("", 40 * 60);
    const auto rows = table.rows();
    REQUIRE(rows.size() == 3);
    CHECK(rows[0].domain == "example.org");
    CHECK(rows[0].total == 4);
    CHECK((rows[0].counts == std::array<std::int64_t, 10>{3, 1}));
    CHECK(rows[1].domain == "b.example");
    CHECK((rows[1].counts == std::array<std::int64_t, 10>{0, 0, 0, 0, 0, 0, 0, 0, 1, 1}));
    CHECK(rows[2].domain == "MAILER-DAEMON");
    CHECK(rows[2].counts[4] == 1);
}

TEST_CASE("the table is qshape's") {
    AgeTable table;
    CHECK(table.text(9) == "                                         T  5 10 20 40 80 160 320 640 1280 1280+\n"
                           "                                  TOTAL  0  0  0  0  0  0   0   0   0    0     0\n");
    for (int i = 0; i < 1234; ++i) table.add("a@long.example", 1);
    table.add("a@short.example", 1);
    table.add("a@b.example", 5000);
    table.add("a@a-very-long-name-that-does-not-fit-into-its-column.example", 1);
    CHECK(table.text(9) == "                                       T    5 10 20 40 80 160 320 640 1280 1280+\n"
                           "                              TOTAL 1237 1236  0  0  0  0   1   0   0    0     0\n"
                           "                       long.example 1234 1234  0  0  0  0   0   0   0    0     0\n"
                           "                          b.example    1    0  0  0  0  0   1   0   0    0     0\n"
                           "                      short.example    1    1  0  0  0  0   0   0   0    0     0\n"
                           "+es-not-fit-into-its-column.example    1    1  0  0  0  0   0   0   0    0     0\n");
    CHECK(std::ranges::count(table.text(1), '\n') == 3);
}

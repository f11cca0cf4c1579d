// Which numbers are missing, and which of them an event names.
#include "daemons/postrider/history/journal_gaps.h"
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using postrider::JournalGaps;
using postrider::NumberRange;

namespace {

JournalGaps gaps(const std::vector<std::uint64_t>& numbers, const std::vector<NumberRange>& named) {
    JournalGaps found;
    for (const auto number : numbers) found.add(number);
    for (const auto& each : named) found.add_named({{"from", each.from}, {"to", each.to}});
    return found;
}

} // namespace

TEST_CASE("missing numbers are those that no event names") {
    CHECK(gaps({5, 6, 7}, {}).unnamed().empty());
    CHECK(gaps({5, 6, 7}, {}).first() == 5);
    CHECK(gaps({1, 2, 5, 6, 9}, {}).unnamed() == std::vector<NumberRange>{{3, 4}, {7, 8}});
    CHECK(gaps({1, 2, 5, 6, 9}, {{3, 4}}).unnamed() == std::vector<NumberRange>{{7, 8}});
    CHECK(gaps({1, 10}, {{4, 6}}).unnamed() == std::vector<NumberRange>{{2, 3}, {7, 9}});
    CHECK(gaps({1, 10}, {{7, 20}, {1, 3}}).unnamed() == std::vector<NumberRange>{{4, 6}});
    CHECK(gaps({1, 10}, {{2, 5}, {3, 9}}).unnamed().empty());
    CHECK(gaps({1, 10, 20}, {{2, 30}}).unnamed().empty());
    CHECK(gaps({}, {{1, 2}}).unnamed().empty());
}

TEST_CASE("events that name no range are ignored") {
    JournalGaps found;
    found.add(1);
    found.add(3);
    for (const auto* text :
         {"{}", R"({"from":2})", R"({"from":"2","to":"2"})", R"({"from":3,"to":2})", R"({"how_many":7})"})
        found.add_named(nlohmann::json::parse(text));
    CHECK(found.unnamed() == std::vector<NumberRange>{{2, 2}});
    CHECK(found.named() == 0);
}

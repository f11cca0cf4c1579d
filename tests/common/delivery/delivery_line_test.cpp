// Delays as log analysers know them.
#include "daemons/common/delivery/delivery_line.h"
#include <doctest/doctest.h>

using namespace std::chrono_literals;

TEST_CASE("a delay has two digits that matter") {
    const struct {
        smtp::Duration delay;
        std::string_view text;
    } table[] = {
        {-1s, "0"},      {0s, "0"},       {4ms, "0"},      {5ms, "0.01"},     {12ms, "0.01"},
        {50ms, "0.05"},  {123ms, "0.12"}, {500ms, "0.5"},  {996ms, "1"},      {1040ms, "1"},
        {1250ms, "1.3"}, {9960ms, "10"},  {12400ms, "12"}, {345600ms, "346"}, {86400s, "86400"},
    };
    for (const auto& row : table) CHECK(common::delay_text(row.delay) == row.text);
}

TEST_CASE("delays add up to the whole") {
    const smtp::WallTime zero{};
    const auto d = common::Delays::of(zero, zero + 10ms, 30ms, 40ms, zero + 100ms);
    CHECK(d.before_queue == 10ms);
    CHECK(d.in_queue == 20ms);
    CHECK(d.setup == 30ms);
    CHECK(d.transmission == 40ms);
    CHECK(common::Delays::of(zero + 10ms, zero, 0s, 0s, zero).in_queue == 0s); // a clock that stepped back
}

#include "daemons/common/terminal/exit_status.h"
#include "daemons/simulate/simulate.h"
#include <doctest/doctest.h>

using namespace postrider;

TEST_CASE("a scenario or a log, not both and not neither") {
    CHECK(run_simulation({}) == usage);
    CHECK(run_simulation({.options = {{"--world", "a.toml"}, {"--from-log", "-"}}}) == usage);
    CHECK(run_simulation({.options = {{"--world", "a.toml"}, {"--print-scenario", ""}}}) == usage);
    CHECK(run_simulation({.options = {{"--world", "a.toml"}, {"--seed", "x"}}}) == usage);
    CHECK(run_simulation({.options = {{"--world", "a.toml"}, {"--until", "soon"}}}) == usage);
}

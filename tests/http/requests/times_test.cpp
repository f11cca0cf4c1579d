#include "daemons/http/requests/times.h"
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

TEST_CASE("times are shown as RFC 3339, others as they are") {
    auto value = nlohmann::json::parse(R"({"arrival":1800000000,"size":1800000000,"oldest":{"arrival":0},)"
                                       R"("recipients":[{"next_attempt":-1,"since":1}],"expiry":"x"})");
    http::show_times(value);
    CHECK(value == nlohmann::json::parse(
                       R"({"arrival":"2027-01-15T08:00:00Z","size":1800000000,"oldest":{"arrival":null},)"
                       R"("recipients":[{"next_attempt":null,"since":"1970-01-01T00:00:01Z"}],"expiry":"x"})"));
}

#include "daemons/decide/message/suppression_filter.h"
#include <doctest/doctest.h>

using namespace decide;
using namespace std::chrono_literals;

namespace {

const smtp::WallTime now{1'795'305'600s};

Suppression entry() {
    Suppression out;
    out.recipient = "ann@example.org";
    out.scope.sender = "news.example";
    out.reason = "Asked for it";
    out.reply = "550 5.1.1 No such user";
    out.who = "root";
    out.automatic = true;
    out.added = now - 48h;
    return out;
}

bool matches(std::vector<std::string> words, const Suppression& one = entry()) {
    const auto filter = SuppressionFilter::parse(words);
    REQUIRE(filter);
    return filter->matches(one, now);
}

} // namespace

TEST_CASE("words that must all hold; of one key, any") {
    CHECK(matches({}));
    CHECK(matches({"all"}));
    CHECK(matches({"recipient=ANN@*"}));
    CHECK_FALSE(matches({"recipient=bob@*"}));
    CHECK(matches({"recipient=bob@*", "recipient=ann@*"}));
    CHECK(matches({"domain=example.org"}));
    CHECK_FALSE(matches({"domain=example.org", "who=ann"}));
    CHECK(matches({"sender=news.example"}));
    CHECK_FALSE(matches({"sender="}));
    CHECK_FALSE(matches({"pool=news"}));
    auto of_pool = entry();
    of_pool.scope = {.sender = "", .pool = "News", .lane = ""};
    CHECK(matches({"pool=news"}, of_pool));
    CHECK(matches({"sender="}, of_pool));
    CHECK_FALSE(matches({"lane=bulk"}, of_pool));
    CHECK(matches({"reason=asked"}));
    CHECK(matches({"reason=no such"}));
    CHECK(matches({"kind=automatic"}));
    CHECK_FALSE(matches({"kind=manual"}));
    CHECK(matches({"age=+1d", "age=-3d"}));
    CHECK_FALSE(matches({"age=+1d", "age=-1d"}));
    auto domain = entry();
    domain.recipient = "@example.org";
    CHECK(matches({"domain=example.org"}, domain));
}

TEST_CASE("words that make no sense") {
    for (const std::string bad : {"ann@example.org", "colour=red", "recipient=", "age=1d", "age=+1", "kind=odd"}) {
        CAPTURE(bad);
        CHECK_FALSE(SuppressionFilter::parse(std::vector{bad}));
    }
    CHECK_FALSE(SuppressionFilter::parse(std::vector<std::string>{"all", "who=root"}));
}

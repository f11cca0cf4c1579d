#include "daemons/common/config/config.h"
#include "daemons/queue-manager/conversion/soft_bounce.h"
#include <doctest/doctest.h>

using namespace queue_manager;

TEST_CASE("with soft_bounce nothing fails for good, and why stays readable") {
    proto::categorize::Categorized found{
        1,
        {{.origin = 0, .fate = spool::Fate::failed, .status = "5.1.1", .text = "unknown user"},
         {.origin = 1, .fate = spool::Fate::local, .user = "ann"}}};
    found = softened(std::move(found));
    CHECK(found.outcomes[0].fate == spool::Fate::unknown);
    CHECK(found.outcomes[0].status == "4.1.1");
    CHECK(found.outcomes[0].text == "unknown user");
    CHECK(found.outcomes[1].fate == spool::Fate::local);

    proto::route::Routed route;
    route.kind = decide::RouteKind::permanent;
    route.status = "5.1.2";
    CHECK(softened(route).kind == decide::RouteKind::temporary);
    CHECK(softened(route).status == "4.1.2");
    route.kind = decide::RouteKind::mx;
    CHECK(softened(route).kind == decide::RouteKind::mx);

    proto::delivery::Done done;
    done.replies = {{.status = "5.7.1", .text = "host mx said: 550 5.7.1 no", .code = 550},
                    {.status = "2.0.0", .code = 250}};
    done.results = {{0, proto::delivery::Outcome::failed, 0, false},
                    {1, proto::delivery::Outcome::delivered, 1, false}};
    done = softened(std::move(done));
    CHECK(done.results[0].outcome == proto::delivery::Outcome::deferred);
    CHECK(done.replies[0].status == "4.7.1");
    CHECK(done.replies[0].code == 550);
    CHECK(done.results[1].outcome == proto::delivery::Outcome::delivered);
    CHECK(done.replies[1].status == "2.0.0");
}

TEST_CASE("the modes are seen while they are on") {
    config::Config config;
    CHECK(soft_bounce_notice(config).empty());
    CHECK(dry_bounce_notice(config).empty());
    CHECK_FALSE(engine_settings(config).soft_bounce);
    config.bounce.soft_bounce = config.bounce.dry_bounce = true;
    CHECK(soft_bounce_notice(config).starts_with("bounce.soft_bounce is on: "));
    CHECK(dry_bounce_notice(config).starts_with("bounce.withhold_reports is on: "));
    CHECK(engine_settings(config).soft_bounce);
}

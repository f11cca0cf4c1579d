// Who waits for removals, and for which.
#include "daemons/queue-manager/spool/removals_under_way.h"
#include <doctest/doctest.h>

using queue_manager::RemovalsUnderWay;
using spool::QueueId;

TEST_CASE("nobody waits when nothing is under way") {
    RemovalsUnderWay removals;
    int called = 0;
    removals.when_through([&] { ++called; });
    CHECK(called == 1);
    removals.end(QueueId{1}); // never began
}

TEST_CASE("one waits for those that had begun, not for later ones") {
    RemovalsUnderWay removals;
    int called = 0;
    removals.begin(QueueId{1});
    removals.begin(QueueId{2});
    removals.when_through([&] { ++called; });
    removals.begin(QueueId{3});
    removals.end(QueueId{2});
    removals.end(QueueId{3});
    CHECK(called == 0);
    removals.end(QueueId{1});
    CHECK(called == 1);
    removals.begin(QueueId{4});
    removals.when_through([&] { called += 10; });
    CHECK(called == 1);
    removals.end(QueueId{4});
    CHECK(called == 11);
}

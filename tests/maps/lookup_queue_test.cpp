#include "daemons/maps/lookup_queue.h"
#include <doctest/doctest.h>

using maps::LookupQueue;
using namespace std::chrono_literals;

TEST_CASE("lookups: as many at once as there are connections, the others in their order") {
    const LookupQueue::Time start{};
    LookupQueue queue(2);
    for (const auto* key : {"a", "b", "c"}) CHECK(queue.add(key, start, start + 10s));
    CHECK(queue.next()->key == "a");
    CHECK(queue.next()->key == "b");
    CHECK_FALSE(queue.next());
    CHECK(queue.finished(1)->key == "a");
    CHECK(queue.next()->key == "c");
    CHECK(queue.busy() == 2);
}

TEST_CASE("lookups: a connection that does not come back is busy, its lookup is over") {
    const LookupQueue::Time start{};
    LookupQueue queue(1);
    queue.add("a", start, start + 10s);
    queue.add("b", start, start + 10s);
    queue.next();
    CHECK(queue.next_deadline() == start + 10s);
    CHECK(queue.expire(start + 9s).empty());
    CHECK_FALSE(queue.stuck());
    const auto over = queue.expire(start + 10s);
    REQUIRE(over.size() == 2);
    CHECK(over[0].under_way);
    CHECK_FALSE(over[1].under_way);
    CHECK(queue.stuck());
    CHECK_FALSE(queue.next_deadline());
    CHECK_FALSE(queue.finished(1)); // nobody waits for it any more
    CHECK_FALSE(queue.stuck());
    CHECK(queue.busy() == 0);
}

TEST_CASE("lookups: a limited number waits, and one whose caller is gone is not begun") {
    const LookupQueue::Time start{};
    LookupQueue queue(1);
    queue.add("a", start, start + 1s);
    queue.next();
    for (std::size_t i = 0; i < LookupQueue::most_waiting; ++i) CHECK(queue.add("x", start, start + 1s));
    CHECK_FALSE(queue.add("y", start, start + 1s));
    queue.forget(2);
    CHECK(queue.add("y", start, start + 1s));
    queue.forget(1); // is under way
    CHECK(queue.finished(1));
    CHECK(queue.next()->number == 3);
}

#include "daemons/decide/queue/failure_mapping.h"
#include <doctest/doctest.h>

using namespace decide;
using namespace decide::queue;
using smtp::Stage;

TEST_CASE("what an agent saw of a recipient") {
    const Reason reason{"4.7.1", "greylisted", "450 4.7.1 greylisted", "mx"};
    const auto grey = observed(3, Outcome::deferred, {Stage::rcpt, 450, "4.7.1"}, reason);
    CHECK(grey.number == 3);
    CHECK(grey.outcome == Outcome::deferred);
    CHECK(grey.kind == FailureKind::recipient);
    CHECK(grey.push_back == PushBack::no);
    CHECK(grey.reason == &reason);
    const auto slow_down = observed(0, Outcome::deferred, {Stage::mail, 421, "4.7.28"}, reason);
    CHECK(slow_down.kind == FailureKind::connection);
    CHECK(slow_down.push_back == PushBack::yes);
}

TEST_CASE("how a connection failed") {
    const Reason reason{"4.4.1", "refused", "", ""};
    const auto refused = failed(7, false, {Stage::connect, 0, "4.4.1"}, reason);
    CHECK(refused.connection == 7);
    CHECK(refused.failed);
    CHECK(!refused.was_up);
    CHECK(refused.phase == Phase::connecting);
    CHECK(refused.reason == &reason);
    CHECK(failed(7, false, {Stage::lookup, 0, "4.4.3"}, reason).phase == Phase::connecting);
    CHECK(failed(7, false, {Stage::banner, 554, "5.7.1"}, reason).phase == Phase::session);
    CHECK(failed(7, true, {Stage::mail, 421, "4.7.0"}, reason).push_back == PushBack::yes);
}

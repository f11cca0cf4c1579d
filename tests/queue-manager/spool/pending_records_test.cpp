#include "daemons/queue-manager/spool/pending_records.h"
#include <doctest/doctest.h>

using queue_manager::PendingRecords;
using Numbers = std::vector<std::uint32_t>;

static constexpr spool::QueueId first{0x0A1B2C3D4E5F10}, second{0x0A1B2C3D4E5F11};

TEST_CASE("who is still here after a while is written down, once") {
    PendingRecords unwritten;
    unwritten.add(first, Numbers{0, 2});
    CHECK(unwritten.passed().empty()); // it may have come this instant
    unwritten.add(second, Numbers{1});
    const auto due = unwritten.passed();
    REQUIRE(due.size() == 1);
    CHECK(due[0].first == first);
    CHECK(due[0].second.recipients == Numbers{0, 2});
    CHECK(due[0].second.fate == spool::Fate::remote);
    CHECK(unwritten.passed().size() == 1);
    CHECK(unwritten.passed().empty());
    CHECK(unwritten.empty());
}

TEST_CASE("what is gone, or written with something else, is not written again") {
    PendingRecords unwritten;
    unwritten.add(first, Numbers{0});
    unwritten.passed();
    unwritten.add(second, Numbers{0});
    CHECK(unwritten.take(first));
    CHECK_FALSE(unwritten.take(first));
    CHECK(unwritten.take(second));
    CHECK(unwritten.empty());
}

TEST_CASE("a message that is settled bit by bit has one record") {
    PendingRecords unwritten;
    unwritten.add(first, Numbers{0});
    unwritten.passed();
    unwritten.add(first, Numbers{3});
    unwritten.add(first, {});
    CHECK(unwritten.take(first)->recipients == Numbers{0, 3});
    CHECK(unwritten.empty());
    unwritten.add(second, {});
    CHECK(unwritten.empty());
}

#include "libspool/format/layout.h"
#include "libspool/format/queue_id.h"
#include <doctest/doctest.h>

using spool::QueueId;

TEST_CASE("a queue id is written as 14 upper-case hexadecimal digits and read back") {
    QueueId id{0x0A1B2C3D4E5F01};
    CHECK(id.text() == "0A1B2C3D4E5F01");
    CHECK(QueueId::parse(id.text()) == id);
    CHECK(id.slot() == 1);
}

TEST_CASE("what is not a queue id is refused") {
    for (auto odd : {"", "0", "123456789", "0a1b2c3d4e5f01", "0A1B2C3D4E5F012", "0A1B2C3D4E5F0G", "00000000000000"})
        CHECK_FALSE(QueueId::parse(odd));
    CHECK(QueueId::parse("1234567890")->value == 0x1234567890);
}

TEST_CASE("a message lies under its writer's slot, then in a hashed directory") {
    QueueId id{0x0A1B2C3D4E5F1F};
    CHECK(spool::path_of(id, spool::Location::incoming) == "incoming/1f/0A1B2C3D4E5F1F");
    CHECK(spool::path_of(id, spool::Location::messages).starts_with("messages/"));
    CHECK(spool::path_of(id, spool::Location::messages).ends_with("/0A1B2C3D4E5F1F"));
}

#include "daemons/common/ipc/message.h"
#include "daemons/common/proto/categorize.h"
#include "daemons/common/proto/delivery.h"
#include "daemons/common/proto/hello.h"
#include "daemons/common/proto/recipient_check.h"
#include "daemons/common/proto/report.h"
#include "daemons/common/proto/submission.h"
#include "daemons/common/proto/supervision.h"
#include <doctest/doctest.h>

using namespace proto;

TEST_CASE("a message survives the wire, and no truncation or addition of it is accepted") {
    delivery::Deliver deliver{7,        9,  {0x0A1B2C3D4E5F1F},   spool::Location::messages, 0,
                              {0, 300}, -5, 1'700'000'000'000'000};
    std::string wire;
    ipc::encode<delivery::Message>(deliver, wire);
    auto back = ipc::decode<delivery::Message>(wire);
    REQUIRE(back);
    auto& same = std::get<delivery::Deliver>(*back);
    CHECK(same.connection == 7);
    CHECK(same.queue_id == deliver.queue_id);
    CHECK(same.location == spool::Location::messages);
    CHECK(same.recipients == deliver.recipients);
    CHECK(same.arrived == -5);
    for (std::size_t n = 0; n < wire.size(); ++n) CHECK_FALSE(ipc::decode<delivery::Message>(wire.substr(0, n)));
    CHECK(ipc::decode<delivery::Message>(wire + "x").error().why == "trailing bytes");
}

TEST_CASE("odd fields are named") {
    using namespace std::string_literals;
    CHECK(ipc::decode<submission::Message>("\x0a"s).error().why == "unknown message");
    CHECK(ipc::decode<submission::Message>("\x01\x00"s).error().why == "queue_id: not a queue id");
    CHECK(ipc::decode<recipient_check::Message>("\x01\x05\x09\x00"s).error().why == "verdict: unknown value");
    CHECK(ipc::decode<delivery::Message>("\x00\x05\x01x\x02"s).error().why == "mx: not a yes or no");
    CHECK(ipc::decode<hello::Message>("\x01\xff\xff\xff\xff\xff\x01"s).error().why == "version: out of range");
}

TEST_CASE("a list is never believed beyond the bytes that are there") {
    using namespace std::string_literals;
    CHECK(ipc::decode<categorize::Message>("\x01\x01\xff\xff\xff\xff\x0f"s).error().why == "outcomes: cut short");
}

// The bytes of Postfix's mailq and postqueue for the same queue.
#include "daemons/common/commands/queue_listing.h"
#include <cstdlib>
#include <ctime>
#include <doctest/doctest.h>

using common::QueueListing;

TEST_CASE("an empty queue") {
    std::string out;
    QueueListing(QueueListing::Form::text, [&](std::string_view text) { out += text; }).end();
    CHECK(out == "Mail queue is empty\n");
}

TEST_CASE("entries: marks, reasons, several recipients") {
    setenv("TZ", "UTC", 1);
    tzset();
    std::string out;
    QueueListing listing(QueueListing::Form::text, [&](std::string_view text) { out += text; });
    listing.add({"active", "0A1B2C3D4E", 1'700'000'000, 567, false, "ann@example.org", {{"bob@example.net", ""}}});
    listing.add({"deferred",
                 "0A1B2C3D4F",
                 1'700'000'000,
                 1500,
                 false,
                 "MAILER-DAEMON",
                 {{"a@x", "connect to x[192.0.2.1]:25: Connection refused"},
                  {"b@x", "connect to x[192.0.2.1]:25: Connection refused"},
                  {"c@x", ""}}});
    listing.add({"hold", "01234567890ABC", 1'700'000'000, 1, true, "d@x", {{"e@x", std::string(80, 'r')}}});
    listing.end();
    CHECK(out == "-Queue ID-  --Size-- ----Arrival Time---- -Sender/Recipient-------\n"
                 "0A1B2C3D4E*     567 Tue Nov 14 22:13:20  ann@example.org\n"
                 "                                         bob@example.net\n"
                 "\n"
                 "0A1B2C3D4F     1500 Tue Nov 14 22:13:20  MAILER-DAEMON\n"
                 "                              (connect to x[192.0.2.1]:25: Connection refused)\n"
                 "                                         a@x\n"
                 "                                         b@x\n"
                 "                                                          (reason unavailable)\n"
                 "                                         c@x\n"
                 "\n"
                 "01234567890ABC!#       1 Tue Nov 14 22:13:20  d@x\n"
                 "(" +
                     std::string(80, 'r') +
                     ")\n"
                     "                                         e@x\n"
                     "\n"
                     "-- 2 Kbytes in 3 Requests.\n");
}

TEST_CASE("as JSON: an object a line") {
    std::string out;
    QueueListing listing(QueueListing::Form::json, [&](std::string_view text) { out += text; });
    listing.add({"deferred",
                 "0A1B2C3D4F",
                 1'700'000'000,
                 1500,
                 true,
                 "MAILER-DAEMON",
                 {{"\"a b\"@x", "said: 450 4.2.0 \\o/\tsoon\x7f"}, {"c@x", ""}}});
    listing.add({"hold", "0A1B2C3D50", 1, 2, false, "gr\xc3\xbc\xc3\x9f@x", {{"\xff@x", ""}}});
    listing.end();
    CHECK(out ==
          R"({"queue_name": "deferred", "queue_id": "0A1B2C3D4F", "arrival_time": 1700000000, "message_size": 1500, )"
          R"("forced_expire": true, "sender": "MAILER-DAEMON", "recipients": [{"address": "\"a b\"@x", )"
          R"("delay_reason": "said: 450 4.2.0 \\o/\tsoon\u007F"}, {"address": "c@x"}]})"
          "\n"
          R"({"queue_name": "hold", "queue_id": "0A1B2C3D50", "arrival_time": 1, "message_size": 2, )"
          R"("forced_expire": false, "sender": "grüß@x", "recipients": [{"address": "?@x"}]})"
          "\n");
}

// The bytes of Postfix's mailq for the same queue.
#include "daemons/sendmail/listing.h"
#include <cstdlib>
#include <ctime>
#include <doctest/doctest.h>

using namespace sendmail;

TEST_CASE("an empty queue") {
    std::string out;
    Listing([&](std::string_view text) { out += text; }).end();
    CHECK(out == "Mail queue is empty\n");
}

TEST_CASE("entries: marks, reasons, several recipients") {
    setenv("TZ", "UTC", 1);
    tzset();
    std::string out;
    Listing listing([&](std::string_view text) { out += text; });
    listing.add({"active",
                 "0A1B2C3D4E",
                 1'700'000'000,
                 567,
                 false,
                 "ann@example.org",
                 {{"", "bob@example.net", ""}}});
    listing.add({"deferred",
                 "0A1B2C3D4F",
                 1'700'000'000,
                 1500,
                 false,
                 "",
                 {{"", "a@x", "connect to x[192.0.2.1]:25: Connection refused"},
                  {"", "b@x", "connect to x[192.0.2.1]:25: Connection refused"},
                  {"", "c@x", ""}}});
    listing.add(
        {"hold", "01234567890ABC", 1'700'000'000, 1, true, "d@x", {{"", "e@x", std::string(80, 'r')}}});
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

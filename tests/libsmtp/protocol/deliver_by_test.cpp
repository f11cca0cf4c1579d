// BY= of RFC 2852, as it is read and written.
#include "libsmtp/protocol/deliver_by.h"
#include "libsmtp/protocol/parameters.h"
#include <doctest/doctest.h>

using namespace smtp;

TEST_CASE("a time, a mode and perhaps a trace") {
    CHECK(parse_deliver_by("120;R") == DeliverBy{120, LateMail::give_back, false});
    CHECK(parse_deliver_by("-60;nt") == DeliverBy{-60, LateMail::notify, true});
    CHECK(parse_deliver_by("+000000001;r") == DeliverBy{1, LateMail::give_back, false});
    CHECK(parse_deliver_by("0;N") == DeliverBy{0, LateMail::notify, false});
    for (const auto* text : {"120;R", "-60;NT", "0;N", "999999999;RT"}) CHECK(text_of(*parse_deliver_by(text)) == text);
    for (const auto* text : {"", ";", "1", "1;", "1;X", "1;RX", "1;RTT", "0;R", "-1;R", "--1;N", "1234567890;N", "a;N"})
        CHECK_MESSAGE(!parse_deliver_by(text), text);
}

TEST_CASE("as a parameter of MAIL, where it is offered") {
    Capabilities offered;
    CHECK(parse_mail_parameters("BY=120;R", offered).error().code == 555);
    offered.deliver_by = true;
    CHECK(offered.lines().ends_with("DELIVERBY"));
    CHECK(parse_mail_parameters("by=120;R", offered)->deliver_by->seconds == 120);
    CHECK(parse_mail_parameters("BY=0;R", offered).error().code == 501);
    CHECK(parse_mail_parameters("BY", offered).error().code == 501);
    CHECK(parse_mail_parameters("BY=1;R BY=2;R", offered).error().code == 501);
}

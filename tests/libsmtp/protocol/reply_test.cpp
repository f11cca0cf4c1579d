#include "libsmtp/protocol/reply.h"
#include <doctest/doctest.h>

using namespace smtp;

static std::string wire(const Reply& reply) {
    std::string out;
    reply.append_to(out);
    return out;
}

TEST_CASE("enhanced status") {
    CHECK(EnhancedStatus::parse("5.7.1") == EnhancedStatus{5, 7, 1});
    CHECK(EnhancedStatus::parse("2.0.0") == EnhancedStatus{2, 0, 0});
    CHECK(EnhancedStatus::parse("4.999.123") == EnhancedStatus{4, 999, 123});
    for (auto odd : {"", "5", "5.", "5.7", "5.7.", "5.7.1.", "5.7.1.1", "3.0.0", "5.07.1", "5.7.1000", "5..1", "5.7.x",
                     "x.7.1", "5.7.1 "})
        CHECK_MESSAGE(!EnhancedStatus::parse(odd), odd);
    CHECK(EnhancedStatus{5, 7, 30}.text() == "5.7.30");
    CHECK(EnhancedStatus{}.text() == "");
}

TEST_CASE("on the wire") {
    CHECK(wire({250, {2, 1, 0}, "Ok"}) == "250 2.1.0 Ok\r\n");
    CHECK(wire({250, {}, "one\ntwo\nthree"}) == "250-one\r\n250-two\r\n250 three\r\n");
    CHECK(wire({550, {5, 1, 1}, "no\nreally"}) == "550-5.1.1 no\r\n550 5.1.1 really\r\n");
    CHECK(wire({550, {2, 1, 1}, "class"}) == "550 class\r\n");
    CHECK(wire({421, {}, ""}) == "421 \r\n");
    CHECK(wire({500, {}, "a\rb\tc"}) == "500 a?b?c\r\n");
    CHECK(wire({500, {}, std::string(10000, 'x')}).size() < 512);
}

TEST_CASE("in one line") {
    CHECK(Reply{554, {5, 7, 1}, "<x>: Relay access denied"}.line() == "554 5.7.1 <x>: Relay access denied");
    CHECK(Reply{250, {}, "a\nb"}.line() == "250 a b");
    CHECK(Reply{250, {2, 0, 0}, ""}.line() == "250 2.0.0");
    CHECK(Reply{}.line() == "");
}

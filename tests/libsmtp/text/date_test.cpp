#include "libsmtp/text/date.h"
#include <doctest/doctest.h>

using namespace std::chrono;

static smtp::WallTime at(int y, unsigned m, unsigned d, seconds s) { return sys_days(year(y) / month(m) / day(d)) + s; }

TEST_CASE("dates are written as RFC 5322 has them") {
    CHECK(smtp::rfc5322_date(at(2026, 11, 20, 15h + 54min + 58s)) == "Fri, 20 Nov 2026 15:54:58 +0000");
    CHECK(smtp::rfc5322_date(at(2026, 11, 20, 23h + 30min), 60min) == "Sat, 21 Nov 2026 00:30:00 +0100");
    CHECK(smtp::rfc5322_date(at(2024, 3, 1, 0s), -330min) == "Thu, 29 Feb 2024 18:30:00 -0530");
    CHECK(smtp::rfc5322_date(smtp::WallTime{}) == "Thu, 1 Jan 1970 00:00:00 +0000");
    CHECK(smtp::iso_date(at(9999, 12, 31, 23h + 59min)) == "9999-12-31");
    CHECK(smtp::compact_date(at(2026, 1, 2, 3h + 4min + 5s)) == "20260102030405");
}

#include "daemons/common/submission/forwarded_requests.h"
#include "daemons/common/submission/pool_choice.h"
#include "daemons/common/submission/sender_requests.h"
#include "libsmtp/text/date.h"
#include <doctest/doctest.h>

using namespace std::chrono_literals;
using common::Submitter;

namespace {

const auto arrival = *smtp::parse_rfc3339("2026-11-26T12:00:00Z");

spool::Envelope read_back(const std::string& header) {
    smtp::ControlFields fields(common::control_fields_of(Submitter::trusted, {}), common::meta_field);
    std::string rest;
    fields.feed(header + "\r\n", rest);
    CHECK(rest == "\r\n");
    spool::Envelope out;
    out.arrival = arrival;
    CHECK(common::apply_sender_requests({}, Submitter::trusted, fields, out) == "");
    out.pool = fields.value(common::pool_field);
    return out;
}

} // namespace

TEST_CASE("what was asked for comes back with the message") {
    spool::Envelope asked;
    asked.arrival = arrival;
    asked.pool = "news";
    asked.lane = "bulk";
    asked.retry_policy = "patient";
    asked.expiry = arrival + 2h;
    asked.deliver_by = arrival + 1h;
    asked.late = smtp::LateMail::give_back;
    asked.deliver_by_trace = true;
    asked.meta = {{"order", "4711"}, {"customer_id", "a b"}};
    asked.idempotency_key = "order-4711";
    asked.not_before = arrival + 1min;
    const auto fields = common::fields_of_requests(asked, arrival + 10min);
    CHECK(fields ==
          "X-Postrider-Pool: news\r\nX-Postrider-Expires: 2026-11-26T14:00:00Z\r\n"
          "X-Postrider-Deliver-By: 2026-11-26T13:00:00Z;RT\r\nX-Postrider-Lane: bulk\r\n"
          "X-Postrider-Policy: patient\r\nX-Postrider-Meta-order: 4711\r\nX-Postrider-Meta-customer_id: a b\r\n");
    const auto back = read_back(fields);
    CHECK(back.pool == "news");
    CHECK(back.lane == "bulk");
    CHECK(back.retry_policy == "patient");
    CHECK(back.expiry == asked.expiry);
    CHECK(back.deliver_by == asked.deliver_by);
    CHECK(back.late == asked.late);
    CHECK(back.deliver_by_trace);
    CHECK(back.meta == asked.meta);
}

TEST_CASE("times that have passed would be refused: they are left out") {
    spool::Envelope late;
    late.arrival = arrival;
    late.expiry = late.deliver_by = arrival + 1h;
    CHECK(common::fields_of_requests(late, arrival + 1h) == "");
    CHECK(common::fields_of_requests({}, arrival) == "");
}

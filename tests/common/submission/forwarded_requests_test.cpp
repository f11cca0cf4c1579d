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
    const auto fields = common::fields_of_requests(asked, asked.lane, arrival + 10min);
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
    CHECK(common::fields_of_requests(late, "", arrival + 1h) == "");
    CHECK(common::fields_of_requests({}, "", arrival) == "");
}

TEST_CASE("where it came from comes back, too") {
    spool::Envelope first;
    first.listener = "smtp";
    first.submitter = "net:192.0.2.0/24 example.org";
    first.client_name = "mail.example.org";
    first.client_address = "192.0.2.7";
    first.helo = "h\u00e9lo=1";
    first.protocol = "ESMTPS";
    const auto fields = common::fields_of_requests(first, "", arrival);
    CHECK(fields.starts_with("X-Postrider-Source: listener=smtp\r\n submitter=net:192.0.2.0/24%20example.org\r\n"));
    smtp::ControlFields read(common::control_fields_of(Submitter::stranger, {}), common::meta_field);
    std::string rest;
    read.feed(fields + "\r\n", rest);
    spool::Envelope back;
    back.listener = "filtered";
    back.client_address = "127.0.0.1";
    back.client_port = 4711;
    REQUIRE(common::restore_source(read.value(common::source_field), back));
    first.client_port = 0;
    CHECK(back == first);

    spool::Envelope own;
    own.origin = spool::Origin::local;
    own.submitter = "uid:1000";
    REQUIRE(common::restore_source(common::source_text(own), back));
    CHECK(back == own);
}

TEST_CASE("what does not say where it came from changes nothing") {
    for (const auto* text : {"", "listener=smtp", "submitter=x colour=red", "submitter", "submitter=a%4",
                             "submitter=a%0Db", "submitter=a listener=%"}) {
        CAPTURE(text);
        spool::Envelope envelope;
        envelope.listener = "filtered";
        CHECK_FALSE(common::restore_source(text, envelope));
        CHECK(envelope.listener == "filtered");
    }
    spool::Envelope long_one;
    long_one.submitter = "sasl:ann";
    long_one.sasl_user = "ann";
    long_one.helo = std::string(1000, 'h');
    CHECK(common::source_text(long_one) == "submitter=sasl:ann\r\n user=ann"); // the most important come first
}

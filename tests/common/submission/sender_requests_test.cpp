#include "daemons/common/submission/sender_requests.h"
#include "libsmtp/text/date.h"
#include <doctest/doctest.h>

using namespace std::chrono_literals;
using common::Submitter;

namespace {

const auto arrival = *smtp::parse_rfc3339("2026-11-26T12:00:00Z");

smtp::ControlFields asked(std::string_view header) {
    smtp::ControlFields fields(common::control_fields_of(Submitter::trusted, {}), common::meta_field);
    std::string rest;
    fields.feed(header, rest);
    fields.feed("\r\n", rest);
    return fields;
}

struct Result {
    std::string wrong;
    spool::Envelope envelope;
    std::string times() const {
        const auto text = [](const auto& time) { return time ? smtp::rfc3339_date(*time) : std::string("-"); };
        return wrong.empty() ? text(envelope.not_before) + " " + text(envelope.expiry) : wrong;
    }
};

Result of(std::string_view header, Submitter submitter = Submitter::trusted) {
    decide::queue::RetryPolicy patient;
    patient.name = "patient";
    Result out;
    out.envelope.arrival = arrival;
    out.wrong =
        common::apply_sender_requests(common::SenderRequestRules({patient}), submitter, asked(header), out.envelope);
    return out;
}

} // namespace

TEST_CASE("a time or a span: when it is sent, and when it is given up") {
    CHECK(of("").times() == "- -");
    CHECK(of("X-Postrider-Send-At: 2026-12-01T08:00:00+01:00\r\n").times() == "2026-12-01T07:00:00Z -");
    CHECK(of("x-postrider-send-at: 1h30m\r\n").times() == "2026-11-26T13:30:00Z -");
    CHECK(of("X-Postrider-Send-At: 2026-11-26T11:59:59Z\r\n").times() == "- -"); // past: at once
    CHECK(of("X-Postrider-Expires: 2h\r\n").times() == "- 2026-11-26T14:00:00Z");
    CHECK(of("X-Postrider-Expires: 2h\r\nX-Postrider-Send-At: 1d\r\n").times() ==
          "2026-11-27T12:00:00Z 2026-11-27T14:00:00Z"); // counts from when it may go
}

TEST_CASE("what cannot be done is refused, and said") {
    struct Row {
        const char *header, *wrong;
    };
    const Row rows[] = {
        {"X-Postrider-Send-At: tomorrow\r\n", "X-Postrider-Send-At: expected a time such as 2026-12-01T08:00:00Z, or a "
                                              "span such as 2h, not \"tomorrow\""},
        {"X-Postrider-Send-At:\r\n",
         "X-Postrider-Send-At: expected a time such as 2026-12-01T08:00:00Z, or a span such "
         "as 2h, not \"\""},
        {"X-Postrider-Send-At: 91d\r\n", "X-Postrider-Send-At: more than 90 days ahead"},
        {"X-Postrider-Send-At: 1h\r\nX-Postrider-Send-At: 2h\r\n", "X-Postrider-Send-At: given 2 times, expected once"},
        {"X-Postrider-Expires: 2026-11-26T11:00:00Z\r\n", "X-Postrider-Expires: before the message may be sent"},
        {"X-Postrider-Expires: 2026-11-26T13:00:00Z\r\nX-Postrider-Send-At: 2h\r\n",
         "X-Postrider-Expires: before the message may be sent"},
        {"X-Postrider-Expires: 13w\r\n", "X-Postrider-Expires: more than 90 days after the message may be sent"},
        {"X-Postrider-Lane: fast\r\n", "X-Postrider-Lane: expected high, normal, bulk, not \"fast\""},
        {"X-Postrider-Policy: nobody\r\n", "X-Postrider-Policy: there is no retry policy \"nobody\""},
    };
    for (const auto& row : rows) CHECK(of(row.header).wrong == row.wrong);
}

TEST_CASE("lane and policy") {
    const auto it = of("X-Postrider-Lane: Bulk\r\nX-Postrider-Policy: patient\r\n");
    CHECK(it.wrong == "");
    CHECK(it.envelope.lane == "bulk");
    CHECK(it.envelope.retry_policy == "patient");
    CHECK(of("X-Postrider-Policy: exchange\r\n").envelope.retry_policy == "exchange");
}

TEST_CASE("HOLDFOR and the field exclude each other") {
    spool::Envelope envelope;
    envelope.arrival = arrival;
    envelope.not_before = arrival + 1h;
    CHECK(common::apply_sender_requests({}, Submitter::trusted, asked("X-Postrider-Send-At: 2h\r\n"), envelope) ==
          "X-Postrider-Send-At: HOLDFOR or HOLDUNTIL was given as well");
    CHECK(envelope.not_before == arrival + 1h);
}

TEST_CASE("a stranger's wishes count for nothing") {
    const auto it = of("X-Postrider-Lane: high\r\nX-Postrider-Send-At: nonsense\r\n", Submitter::stranger);
    CHECK(it.wrong == "");
    CHECK(it.envelope.lane == "");
}

TEST_CASE("options of sendmail stand for fields") {
    CHECK(common::request_field("HoldFor", "60") == "X-Postrider-Send-At: 60s\r\n");
    CHECK(common::request_field("holdfor", "2h") == "X-Postrider-Send-At: 2h\r\n");
    CHECK(common::request_field("holduntil", "2026-12-01T08:00:00Z") ==
          "X-Postrider-Send-At: 2026-12-01T08:00:00Z\r\n");
    CHECK(common::request_field("lane", "bulk") == "X-Postrider-Lane: bulk\r\n");
    CHECK(common::request_field("pool", "news") == "X-Postrider-Pool: news\r\n");
    CHECK(common::request_field("Timeout.queuewarn", "4h") == "");
}

TEST_CASE("the requests belong to the message that a key is compared for") {
    CHECK(common::text_of_sender_requests(asked("")) == "");
    CHECK(common::text_of_sender_requests(asked("X-Postrider-Pool: news\r\n")) == "news"); // as in earlier versions
    CHECK(common::text_of_sender_requests(asked("X-Postrider-Lane: bulk\r\n")) !=
          common::text_of_sender_requests(asked("X-Postrider-Lane: high\r\n")));
}

TEST_CASE("what a program wants to find again in the journal") {
    const auto it = of("X-Postrider-Meta-Campaign: spring\r\nx-postrider-meta-order_no: 4711\r\n");
    CHECK(it.wrong == "");
    CHECK(it.envelope.meta == std::vector<spool::NamedValue>{{"campaign", "spring"}, {"order_no", "4711"}});
    CHECK(of("X-Postrider-Meta-A: 1\r\n", Submitter::stranger).envelope.meta.empty());

    CHECK(of("X-Postrider-Meta-A: 1\r\nX-Postrider-Meta-a: 2\r\n").wrong ==
          "X-Postrider-Meta-a: given twice, expected once");
    CHECK(of("X-Postrider-Meta-A.B: 1\r\n").wrong ==
          "X-Postrider-Meta-A.B: expected at most 64 letters, digits, \"-\" and \"_\" after X-Postrider-Meta-");
    std::string many;
    for (int n = 0; n < 11; ++n) many += "X-Postrider-Meta-" + std::to_string(n) + ": v\r\n";
    CHECK(of(many).wrong == "11 fields X-Postrider-Meta-NAME, expected at most 10");
    CHECK(
        of("X-Postrider-Meta-A: " + std::string(600, 'x') + "\r\nX-Postrider-Meta-B: " + std::string(600, 'y') + "\r\n")
            .wrong == "the fields X-Postrider-Meta-NAME have more than 1024 bytes together");
    CHECK(common::request_field("meta.campaign", "spring") == "X-Postrider-Meta-campaign: spring\r\n");
    CHECK(common::request_field("meta.", "spring") == "");
}

TEST_CASE("deliver by a time, and what happens then") {
    const auto at = [](std::string_view text) {
        const auto it = of("X-Postrider-Deliver-By: " + std::string(text) + "\r\n");
        if (!it.wrong.empty()) return it.wrong;
        return smtp::rfc3339_date(*it.envelope.deliver_by) +
               (it.envelope.late == smtp::LateMail::give_back ? " return" : " notify") +
               (it.envelope.deliver_by_trace ? " trace" : "");
    };
    CHECK(at("2h") == "2026-11-26T14:00:00Z notify");
    CHECK(at("2h;R") == "2026-11-26T14:00:00Z return");
    CHECK(at("2026-11-26T13:00:00Z;nt") == "2026-11-26T13:00:00Z notify trace");
    CHECK(at("0s;N") == "X-Postrider-Deliver-By: before the message may be sent");
    CHECK(at("91d") == "X-Postrider-Deliver-By: more than 90 days after the message may be sent");
    CHECK(at("2h;X") == "X-Postrider-Deliver-By: expected ;R or ;N after the time, not \";X\"");
    CHECK(at("soon;R").starts_with("X-Postrider-Deliver-By: expected a time such as"));
    CHECK(of("X-Postrider-Send-At: 2h\r\nX-Postrider-Deliver-By: 1h\r\n").envelope.deliver_by == arrival + 3h);
    CHECK(common::request_field("deliverby", "3600;R") == "X-Postrider-Deliver-By: 3600s;R\r\n");
    CHECK(common::request_field("DeliverBy", "2h") == "X-Postrider-Deliver-By: 2h\r\n");
    spool::Envelope envelope;
    envelope.arrival = arrival;
    envelope.deliver_by = arrival + 1h;
    CHECK(common::apply_sender_requests({}, Submitter::trusted, asked("X-Postrider-Send-At: 1h\r\n"), envelope) ==
          "X-Postrider-Send-At: after the time by which the message must be delivered (BY)");
}

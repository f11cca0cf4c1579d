// One failure has one answer, in whichever view an operator meets it.
#include "daemons/queue-manager/conversion/records.h"
#include "daemons/queue-manager/probe/operator_advice.h"
#include <cerrno>
#include <doctest/doctest.h>

using namespace queue_manager;
using namespace decide::queue;
using smtp::Stage;

TEST_CASE("a failure is answered alike on a link, of a message's own try, and by a trial") {
    struct Row {
        Stage stage;
        int code;
        const char* status;
        smtp::FailureDetails details = {};
    };
    using Demand = smtp::FailureDetails::Demand;
    const Row rows[] = {{Stage::lookup, 0, "4.4.3"},
                        {Stage::lookup, 0, "4.4.4"},
                        {Stage::connect, 0, "4.4.1", {.error = ECONNREFUSED}},
                        {Stage::connect, 0, "4.4.1", {.error = EADDRNOTAVAIL}},
                        {Stage::banner, 0, "4.4.2", {.timed_out = true}},
                        {Stage::banner, 0, "4.4.2"},
                        {Stage::banner, 554, "5.7.1"},
                        {Stage::banner, 421, "4.7.0"},
                        {Stage::ehlo, 0, "4.4.2", {.timed_out = true}},
                        {Stage::ehlo, 0, "4.5.0"},
                        {Stage::ehlo, 550, "5.7.1"},
                        {Stage::tls, 0, "4.7.4"},
                        {Stage::tls, 0, "4.7.5", {.implicit_tls = true}},
                        {Stage::tls, 0, "4.7.5", {.demand = Demand::records}},
                        {Stage::tls, 0, "4.7.5", {.demand = Demand::policy}},
                        {Stage::auth, 535, "5.7.8"},
                        {Stage::auth, 0, "4.7.4"},
                        {Stage::mail, 451, "4.7.1"},
                        {Stage::mail, 530, "5.7.0"},
                        {Stage::mail, 553, "5.1.8"},
                        {Stage::rcpt, 450, "4.2.0"},
                        {Stage::rcpt, 421, "4.7.0"},
                        {Stage::rcpt, 452, "4.2.2"},
                        {Stage::rcpt, 554, "5.7.1"},
                        {Stage::data, 0, "4.4.2", {.timed_out = true}},
                        {Stage::final_dot, 554, "5.7.1"}};
    const std::string at = "mx.y.example[192.0.2.1]:25", link = "mx.y.example@bulk";
    for (const Row& row : rows) {
        CAPTURE(static_cast<int>(row.stage));
        CAPTURE(row.code);
        CAPTURE(row.status);
        smtp::RemoteReply reply;
        reply.code = static_cast<std::uint16_t>(row.code);
        reply.status = row.status;
        reply.text = "a text that decides nothing";
        reply.remote_reply = row.code != 0 ? reply.text : "";
        reply.stage = row.stage;
        reply.details = row.details;
        reply.at = at;
        const Reason reason = reason_of(reply, at);

        const auto probe = advice_on(reason, {"y.example", link, "mail"}, at);
        CHECK(probe != "");
        for (const auto gate : {Gate::link, Gate::queue}) // explain
            CHECK(advice_on(GateInfo{.gate = gate, .open = false, .reason = reason}, {}, {"y.example", link, "mail"}) ==
                  probe);
        DeliveryInfo delivery{.waiting = Waiting::link, .queue = "y.example", .link = link, .reason = reason};
        CHECK(advice_on(delivery, {}, "mail") == probe); // message show

        // The same met by the message itself, as its file has it.
        spool::RecipientState recipient;
        auto& attempt = recipient.attempts.emplace_back();
        attempt.host = at;
        attempt.reply = {reply.code, reply.status, reply.text, reply.stage, reply.details};
        CHECK(advice_on(GateInfo{.gate = Gate::ladder, .open = false}, recipient, {"y.example", link, "mail"}) ==
              probe);
        delivery.reason = {};
        CHECK(advice_on(delivery, recipient, "mail") == probe);
    }
}

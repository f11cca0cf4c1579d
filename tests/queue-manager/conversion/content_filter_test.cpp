#include "daemons/queue-manager/conversion/categorization.h"
#include "daemons/queue-manager/conversion/content_filter.h"
#include "tests/queue-manager/conversion/messages.h"
#include <doctest/doctest.h>

using namespace queue_manager;
using queue_manager::testing::message;

namespace {

std::vector<config::Listener> listeners() {
    std::vector<config::Listener> out(2);
    out[0].name = "smtp";
    out[0].content_filter = "[127.0.0.1]:10024";
    out[1].name = "filtered";
    return out;
}

} // namespace

TEST_CASE("which mail goes through a content filter") {
    config::Submit submit;
    submit.content_filter = "scanner";
    spool::Envelope mail;
    mail.listener = "smtp";
    CHECK(content_filter_of(mail, listeners(), submit) == "[127.0.0.1]:10024");
    mail.listener = "filtered";
    CHECK(content_filter_of(mail, listeners(), submit) == "");
    mail.listener = "one that there was yesterday"; // what guards the others
    CHECK(content_filter_of(mail, listeners(), submit) == "[127.0.0.1]:10024");
    mail.listener = "smtp";
    mail.returned_to = "filtered"; // it has been there
    CHECK(content_filter_of(mail, listeners(), submit) == "");
    mail.returned_to = "";
    mail.listener = "";
    mail.origin = spool::Origin::local;
    CHECK(content_filter_of(mail, listeners(), submit) == "scanner");
    mail.content_filter = "[127.0.0.1]:10030"; // a rule has said so
    CHECK(content_filter_of(mail, listeners(), submit) == "[127.0.0.1]:10030");
    mail.origin = spool::Origin::client;
    mail.listener = "smtp";
    CHECK(content_filter_of(mail, listeners(), submit) == "[127.0.0.1]:10030");
    for (const auto* none :
         {"mx", "host.example", "*", "lmtp:/run/$1", "scanner", "two words"}) { // no rule writes these
        mail.content_filter = none;
        CHECK(content_filter_of(mail, listeners(), submit) == "invalid-content-filter:");
    }
    mail.content_filter = "[127.0.0.1]:10030";
    mail.returned_to = "filtered";
    CHECK(content_filter_of(mail, listeners(), submit) == "");
    mail.returned_to = "";
    mail.origin = spool::Origin::copy;
    CHECK(content_filter_of(mail, listeners(), submit) == "");
    mail.origin = spool::Origin::local;
    mail.trace = spool::Trace::verify; // shows where recipients lead: nothing is sent
    CHECK(content_filter_of(mail, listeners(), submit) == "");
    spool::Envelope report;
    report.origin = spool::Origin::report;
    CHECK(content_filter_of(report, listeners(), submit) == "");
}

TEST_CASE("which destinations are content filters, or were") {
    ContentFilters filters;
    filters.add("");
    CHECK_FALSE(filters.has("via:"));
    filters.add("[127.0.0.1]:10024");
    filters.add("scanner");
    CHECK(filters.has("via:[127.0.0.1]:10024"));
    CHECK(filters.has("via:scanner"));
    CHECK_FALSE(filters.has("[127.0.0.1]:10024"));
    CHECK_FALSE(filters.has("via:[127.0.0.1]:10025"));
}

TEST_CASE("through a content filter go all recipients as they are, and the categorizer is not asked") {
    auto state = message({"ann@example.org", "list@example.org", "bob@example.net"});
    state.recipients[2].fate = spool::Fate::failed; // rejected at acceptance
    const auto subject = CategorizationInput::of(state, 1000, false, {}, Mailboxes::files, "[127.0.0.1]:10024");
    CHECK(subject.open.empty());
    REQUIRE(subject.settled.size() == 3);
    CHECK(subject.settled[0].destination == "via:[127.0.0.1]:10024");
    CHECK(subject.settled[1].destination == "via:[127.0.0.1]:10024");
    CHECK(subject.settled[1].fate == spool::Fate::remote);
    CHECK(subject.settled[2].fate == spool::Fate::failed);
}

TEST_CASE("what an operator says of the way counts behind the filter; what was expanded before does not go there") {
    auto state = message({"list@example.org"});
    state.rerouted_to = "[relay.example]";
    const auto waits = CategorizationInput::of(state, 1000, false, {}, Mailboxes::files, "scanner");
    CHECK(waits.rerouted_to == "");
    CHECK(waits.settled[0].destination == "via:scanner");
    state.recipients[0].status = spool::Status::expanded;
    CHECK(CategorizationInput::of(state, 1000, false, {}, Mailboxes::files, "scanner").settled.empty());
    CHECK(CategorizationInput::of(state, 1000, false, {}, Mailboxes::files, "scanner").rerouted_to ==
          "via:[relay.example]");
}

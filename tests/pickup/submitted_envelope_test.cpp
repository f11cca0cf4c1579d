// What a program gives becomes an envelope, or a refusal with an exit status.
#include "daemons/pickup/submitted_envelope.h"
#include <doctest/doctest.h>
#include <sysexits.h>

using namespace pickup;

namespace {

constexpr AddressRules rules{"example.org", 3};

} // namespace

TEST_CASE("addresses are completed, and make the envelope an internationalized one where they need it") {
    spool::Envelope envelope;
    REQUIRE(set_sender(envelope, "ann", "example.org"));
    REQUIRE(add_recipients(envelope, {{"bob, Carol <c@example.net>", "rfc822;bob", 2}}, rules));
    CHECK(envelope.reverse_path == "ann@example.org");
    REQUIRE(envelope.recipients.size() == 2);
    CHECK(envelope.recipients[0].address == "bob@example.org");
    CHECK(envelope.recipients[1].address == "c@example.net");
    CHECK(envelope.recipients[1].orcpt == "rfc822;bob");
    CHECK(envelope.recipients[1].notify == spool::Notify::success);
    CHECK_FALSE(envelope.smtputf8);
    REQUIRE(add_recipient(envelope, "jürgen@example.org", "", 0, 3));
    CHECK(envelope.smtputf8);
    spool::Envelope null_sender;
    REQUIRE(set_sender(null_sender, "", "example.org"));
    CHECK(null_sender.reverse_path.empty());
}

TEST_CASE("a refusal has an exit status, and the envelope what was understood before it") {
    spool::Envelope envelope;
    CHECK(set_sender(envelope, "a, b", "example.org").error().exit_status == EX_DATAERR);
    CHECK(
        set_sender(envelope, "a..b@x", "example.org").error().text.starts_with("the sender is not a valid address: "));
    const auto many = add_recipients(envelope, {{"a, b", "", 0}, {"c, d", "", 0}}, rules);
    CHECK(many.error().exit_status == EX_DATAERR);
    CHECK(many.error().text == "too many recipients");
    CHECK(envelope.recipients.size() == 3);
    for (const std::uint8_t notify : {3, 16})
        CHECK(add_recipient(envelope, "e@example.org", "", notify, 9).error().exit_status == EX_USAGE);
    CHECK(add_recipient(envelope, "e@example.org", "two\nlines", 0, 9).error().exit_status == EX_USAGE);
    proto::submit::Begin begin;
    begin.envid = std::string(101, 'x');
    CHECK(set_options(envelope, begin).error().exit_status == EX_USAGE);
    begin.envid.pop_back();
    CHECK(set_options(envelope, begin));
}

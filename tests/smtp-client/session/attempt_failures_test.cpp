#include "daemons/smtp-client/session/attempt_failures.h"
#include <doctest/doctest.h>

using namespace smtp_client;

namespace {

using Hosts = AttemptFailures::Hosts;
using MayExist = AttemptFailures::MayExist;
using SoftBounce = AttemptFailures::SoftBounce;

AttemptFailure failure(std::string text, smtp::Outcome outcome = smtp::Outcome::deferred,
                       std::string status = "4.4.1") {
    AttemptFailure out;
    out.why.text = std::move(text);
    out.why.outcome = outcome;
    out.why.status = std::move(status);
    return out;
}

} // namespace

TEST_CASE("the last failure counts for the link, a session's that had accepted MAIL for the message") {
    AttemptFailures failures(SoftBounce::no);
    failures.address_unreachable(failure("refused"));
    CHECK(failures.conclude(Hosts::as_published).failure.why.text == "refused");
    CHECK_FALSE(failures.conclude(Hosts::as_published).of_message);

    failures.host_failed(failure("no TLS"));
    failures.last_was_for_policy();
    failures.host_failed(failure("lost after MAIL"));
    failures.last_had_accepted_mail();
    failures.address_unreachable(failure("timed out"));
    const auto end = failures.conclude(Hosts::as_published);
    CHECK((end.failure.why.text == "lost after MAIL" && end.of_message && !end.leads_nowhere));
    CHECK(failures.last().why.text == "timed out");
}

TEST_CASE("what a server says of itself is no verdict on the mail") {
    AttemptFailures failures(SoftBounce::no);
    failures.host_failed(failure("go away", smtp::Outcome::failed, "5.7.1"));
    const auto end = failures.conclude(Hosts::may_change);
    CHECK((end.failure.why.outcome == smtp::Outcome::deferred && end.failure.why.status == "4.7.1"));
}

TEST_CASE("mail is returned where no host has an address, or the only one is this system") {
    const auto conclude = [](SoftBounce soft, MayExist may, Hosts hosts) {
        AttemptFailures failures(soft);
        failures.no_address(failure("Host not found").why, may);
        failures.out_of_addresses();
        return failures.conclude(hosts);
    };
    const auto nowhere = conclude(SoftBounce::no, MayExist::no, Hosts::as_published);
    CHECK((nowhere.leads_nowhere && nowhere.of_message && nowhere.failure.why.status == "5.4.4"));
    CHECK(nowhere.failure.why.text == "Host not found");
    CHECK_FALSE(conclude(SoftBounce::yes, MayExist::no, Hosts::as_published).leads_nowhere);
    CHECK_FALSE(conclude(SoftBounce::no, MayExist::yes, Hosts::as_published).leads_nowhere);
    CHECK_FALSE(conclude(SoftBounce::no, MayExist::no, Hosts::may_change).leads_nowhere);

    AttemptFailures loop(SoftBounce::no);
    loop.loop_found(failure("mail loops back to myself", smtp::Outcome::deferred, "4.4.6"));
    CHECK(loop.conclude(Hosts::may_change).failure.why.status == "5.4.6");
    loop.address_reached();
    CHECK_FALSE(loop.conclude(Hosts::may_change).leads_nowhere);
}

TEST_CASE("a requirement that no host meets is the message's own, and waits for hosts that were not reached") {
    AttemptFailures failures(SoftBounce::no);
    failures.address_reached();
    failures.requirement_missing(failure("no REQUIRETLS", smtp::Outcome::failed, "5.7.30"), 7);
    CHECK((failures.is_for_requirement_of(7) && !failures.is_for_requirement_of(8)));
    CHECK((failures.is_for_requirement_only() && failures.requirement_failure().why.status == "5.7.30"));

    failures.address_unreachable(failure("timed out"));
    CHECK_FALSE(failures.is_for_requirement_only());
    const auto why = failures.requirement_failure().why;
    CHECK((why.outcome == smtp::Outcome::deferred && why.status == "4.7.30"));
    CHECK(why.text == "no REQUIRETLS; other hosts cannot be reached");
}

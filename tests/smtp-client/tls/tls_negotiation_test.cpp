#include "daemons/smtp-client/tls/tls_negotiation.h"
#include "tests/common/crypto/tls/authority.h"
#include <doctest/doctest.h>

using namespace smtp_client;
using decide::TlsLevel;
using decide::TlsResult;
using StartTls = smtp::ClientSession::StartTls;

namespace {

using Available = TlsNegotiation::Available;
using Fallback = TlsNegotiation::Fallback;

TlsNegotiation negotiation(TlsLevel level, Fallback fallback = Fallback::none, std::string name = "mx.test") {
    return {
        {.name = name, .text = name + "[192.0.2.1]", .of_mx = true}, {.level = level, .domain = "b.test"}, fallback};
}

proto::route::StsPolicy policy(decide::sts::Mode mode) {
    proto::route::StsPolicy out;
    out.domain = "b.test";
    out.mode = mode;
    out.id = "1";
    out.mx = {"mx.test"};
    return out;
}

tls::CertificateVerdict certificate(decide::TlsState::Proof proof) {
    tls::CertificateVerdict out;
    out.proof = proof;
    out.of_host = true;
    out.certificate = "3 1 1 AB";
    if (proof == decide::TlsState::Proof::none) out.problem = "self-signed certificate";
    return out;
}

} // namespace

TEST_CASE("what a host must show decides whether STARTTLS is used") {
    auto may = negotiation(TlsLevel::may);
    CHECK(may.decide(nullptr).refusal.empty());
    CHECK(may.starttls_mode(Available::yes) == StartTls::if_offered);
    CHECK(may.starttls_mode(Available::no) == StartTls::never);
    CHECK(may.may_fall_back());

    auto again = negotiation(TlsLevel::may, Fallback::plain_text);
    again.decide(nullptr);
    CHECK(again.starttls_mode(Available::yes) == StartTls::never);
    CHECK_FALSE(again.may_fall_back());

    auto verify = negotiation(TlsLevel::verify);
    verify.decide(nullptr);
    CHECK(verify.starttls_mode(Available::yes) == StartTls::always);
    CHECK_FALSE(verify.may_fall_back());
    CHECK_FALSE(negotiation(TlsLevel::dane, Fallback::none, "192.0.2.1").dane_applies(true)); // it has no records
    CHECK(negotiation(TlsLevel::dane).dane_applies(true));
    CHECK_FALSE(negotiation(TlsLevel::dane).dane_applies(false));
}

TEST_CASE("a host that the policy in force does not name is refused, and reported") {
    auto other = negotiation(TlsLevel::sts, Fallback::none, "other.test");
    other.set_records({});
    const auto enforced = policy(decide::sts::Mode::enforce);
    const auto decision = other.decide(&enforced);
    CHECK(decision.result == TlsResult::validation_failure);
    CHECK(decision.refusal == "host other.test[192.0.2.1] is not listed in the MTA-STS policy of b.test (id 1)");
    const auto outcome = other.outcome(decision.result, decision.refusal, enforced);
    REQUIRE(outcome);
    CHECK((outcome->domain == "b.test" && outcome->host == "other.test" &&
           outcome->policy == decide::TlsPolicyType::sts));
}

TEST_CASE("a certificate is judged by what was demanded") {
    using Proof = decide::TlsState::Proof;
    const tls::ConnectionInfo facts{.version = "TLSv1.3", .cipher = "AES", .server_name = {}, .peer_name = {}};
    auto verify = negotiation(TlsLevel::verify);
    verify.decide(nullptr);
    CHECK(verify.description() == "none");
    CHECK_FALSE(verify.judge(facts, certificate(Proof::none)));
    CHECK(verify.certificate_mismatch_text(certificate(Proof::none)) ==
          "the certificate of mx.test[192.0.2.1] does not prove that it is mx.test: self-signed certificate");
    CHECK(verify.judge(facts, certificate(Proof::authority)));
    CHECK(verify.description() == "TLSv1.3 AES, verified by authority");

    // Other mail may go over it, too, if it needs no more.
    const proto::route::StsPolicy none;
    CHECK(verify.admits({.level = TlsLevel::encrypt, .domain = "c.test"}, false, none));
    CHECK_FALSE(verify.admits({.level = TlsLevel::dane, .domain = "c.test"}, true, none)); // records were not asked for

    CHECK(verify.missing_requirement("b.test", true, true, none).empty());
    CHECK(verify.missing_requirement("b.test", false, true, none) ==
          "message requires TLS on the whole path (REQUIRETLS), and host mx.test[192.0.2.1] does not offer REQUIRETLS");
    CHECK(verify.missing_requirement("b.test", true, false, none)
              .ends_with("host mx.test[192.0.2.1] is secured neither by DNSSEC nor by an MTA-STS policy"));
    CHECK(verify.missing_requirement("b.test", true, false, policy(decide::sts::Mode::testing)).empty());
}

TEST_CASE("a session for which the host requested our certificate is only for mail that shows the same") {
    using Own = tls::ConnectionInfo::OwnCertificate;
    const auto showing = [](const std::string& name) {
        tls::ClientOptions options;
        options.certificates = {tls::testing::make_certificate(name, "DNS:" + name)};
        return *tls::Context::client(options);
    };
    const auto bare = *tls::Context::client({}), mine = showing("mine.test"), other = showing("other.test");
    const auto needs = [](std::shared_ptr<const tls::Context> context) {
        return TlsNeeds{.level = TlsLevel::may, .domain = "b.test", .tls = std::move(context)};
    };
    const auto admitted = [&](Own own, bool resumed, const std::shared_ptr<const tls::Context>& by) {
        TlsNegotiation session({.name = "mx.test", .text = {}}, needs(mine), Fallback::none);
        session.decide(nullptr);
        tls::ConnectionInfo facts;
        facts.own = own, facts.resumed = resumed;
        CHECK(session.judge(facts, certificate(decide::TlsState::Proof::none)));
        return session.admits(needs(by), false, {});
    };
    CHECK(admitted(Own::shown, false, mine));
    CHECK_FALSE(admitted(Own::shown, false, other));
    CHECK_FALSE(admitted(Own::shown, false, bare));
    CHECK(admitted(Own::not_requested, false, other));
    CHECK_FALSE(admitted(Own::not_requested, true, other)); // it may have been requested before
    const auto name = [&](const auto& by) {
        return TlsNegotiation({.name = "mx.test", .text = {}}, needs(by), Fallback::none)
            .resumption_name("mx.test", "");
    };
    CHECK(name(mine) == name(mine));
    CHECK(name(mine) != name(other));
}

TEST_CASE("a session is reported by what a policy in testing would have made of it") {
    const auto testing = policy(decide::sts::Mode::testing);
    auto plain = negotiation(TlsLevel::may);
    plain.decide(&testing);
    REQUIRE(plain.finding_of_session(testing));
    CHECK(plain.finding_of_session(testing)->result == TlsResult::starttls_not_supported);

    auto unproven = negotiation(TlsLevel::may);
    unproven.decide(&testing);
    CHECK(unproven.judge({}, certificate(decide::TlsState::Proof::none)));
    CHECK(unproven.finding_of_session(testing)->result == TlsResult::validation_failure);
    CHECK(unproven.finding_of_session({})->result == TlsResult::success);
    CHECK_FALSE(
        negotiation(TlsLevel::may, Fallback::plain_text).finding_of_session(testing)); // reported when it failed

    const TlsNeeds of_report{.level = TlsLevel::may, .domain = "b.test", .of_report = true};
    auto report = TlsNegotiation({.name = "mx.test", .text = {}}, of_report, Fallback::none);
    report.decide(nullptr);
    CHECK_FALSE(report.outcome(TlsResult::success, "", {}));
}

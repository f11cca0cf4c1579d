#include "daemons/decide/tls/tls_policy.h"
#include <doctest/doctest.h>
#include <string>

using namespace decide;
using State = DaneResult::State;
using Proof = TlsState::Proof;

namespace {

DaneResult findings(State state) {
    DaneResult out;
    out.state = state;
    if (state == State::absent) return out;
    out.owner = "_25._tcp.mx.example.org";
    out.base = "mx.example.org";
    if (state == State::unavailable)
        out.why = "SERVFAIL";
    else
        out.records = {state == State::usable ? TlsaRecord{3, 1, 1, std::string(32, 'x')} : TlsaRecord{1, 1, 1, "x"}};
    return out;
}

} // namespace

TEST_CASE("what each level demands of a host, by what its records say (RFC 7672, 2.2)") {
    constexpr auto plain = TlsDemand::plain, welcome = TlsDemand::welcome, encrypted = TlsDemand::encrypted,
                   authority = TlsDemand::authority, records = TlsDemand::records;
    struct {
        TlsLevel level;
        State state;
        TlsDemand demand;
        bool refused;
        TlsResult result;
    } const table[] = {
        {TlsLevel::none, State::usable, plain, false, TlsResult::success},
        {TlsLevel::may, State::usable, welcome, false, TlsResult::success},
        {TlsLevel::may, State::unavailable, welcome, false, TlsResult::success},
        {TlsLevel::encrypt, State::usable, encrypted, false, TlsResult::success},
        {TlsLevel::verify, State::usable, authority, false, TlsResult::success},
        {TlsLevel::dane, State::absent, welcome, false, TlsResult::success},
        {TlsLevel::dane, State::usable, records, false, TlsResult::success},
        {TlsLevel::dane, State::unusable, encrypted, false, TlsResult::tlsa_invalid},
        {TlsLevel::dane, State::unavailable, records, true, TlsResult::dnssec_invalid},
        {TlsLevel::sts, State::absent, welcome, false, TlsResult::success},
        {TlsLevel::sts, State::usable, records, false, TlsResult::success},
        {TlsLevel::sts, State::unavailable, records, true, TlsResult::dnssec_invalid},
        {TlsLevel::dane_only, State::absent, records, true, TlsResult::dane_required},
        {TlsLevel::dane_only, State::usable, records, false, TlsResult::success},
        {TlsLevel::dane_only, State::unusable, records, true, TlsResult::tlsa_invalid},
        {TlsLevel::dane_only, State::unavailable, records, true, TlsResult::dnssec_invalid},
    };
    for (const auto& row : table) {
        CAPTURE(static_cast<int>(row.level));
        CAPTURE(static_cast<int>(row.state));
        const auto decision = decide_tls(row.level, findings(row.state), StsMatch::nothing, "mx.example.org");
        CHECK(decision.demand == row.demand);
        CHECK(decision.refusal.empty() == !row.refused);
        CHECK(decision.result == row.result);
    }
    CHECK(decide_tls(TlsLevel::dane, findings(State::unavailable), StsMatch::nothing, "mx.example.org").refusal ==
          "the TLSA records of _25._tcp.mx.example.org, which identify the certificate of host "
          "mx.example.org, are not available: "
          "SERVFAIL");
}

TEST_CASE("a policy of MTA-STS counts where records say nothing, and at its own level only (RFC 8461, 2)") {
    const auto decide_it = [](TlsLevel level, State state, StsMatch word) {
        return decide_tls(level, findings(state), word, "mx.example.org");
    };
    CHECK(decide_it(TlsLevel::sts, State::absent, StsMatch::usable) == TlsDecision{TlsDemand::authority, {}});
    const auto other = decide_it(TlsLevel::sts, State::absent, StsMatch::other);
    CHECK(other.demand == TlsDemand::authority);
    CHECK(other.refusal == "host mx.example.org is not listed in the MTA-STS policy of the domain");
    CHECK(other.result == TlsResult::validation_failure);
    for (const auto word : {StsMatch::usable, StsMatch::other}) {
        CHECK(decide_it(TlsLevel::sts, State::usable, word) == TlsDecision{TlsDemand::records, {}});
        CHECK(decide_it(TlsLevel::dane, State::absent, word) == TlsDecision{TlsDemand::welcome, {}});
        CHECK(decide_it(TlsLevel::may, State::absent, word) == TlsDecision{TlsDemand::welcome, {}});
        CHECK(decide_it(TlsLevel::verify, State::absent, word) == TlsDecision{TlsDemand::authority, {}});
    }
}

TEST_CASE("records that cannot be used leave a policy of MTA-STS in force") {
    const auto used = decide_tls(TlsLevel::sts, findings(State::unusable), StsMatch::usable, "mx.example.org");
    CHECK(used.demand == TlsDemand::authority);
    CHECK(used.refusal.empty());
    CHECK(used.result == TlsResult::tlsa_invalid); // reports tell of the records all the same
    const auto other = decide_tls(TlsLevel::sts, findings(State::unusable), StsMatch::other, "mx.example.org");
    CHECK(other.refusal == "host mx.example.org is not listed in the MTA-STS policy of the domain");
    CHECK(other.result == TlsResult::validation_failure);
    // Without a policy: TLS, with whatever certificate (RFC 7672, 2.2).
    CHECK(decide_tls(TlsLevel::sts, findings(State::unusable), StsMatch::nothing, "mx.example.org").demand ==
          TlsDemand::encrypted);
    CHECK(decide_tls(TlsLevel::dane, findings(State::unusable), StsMatch::usable, "mx.example.org").demand ==
          TlsDemand::encrypted);
}

TEST_CASE("what a message says of TLS (RFC 8689)") {
    // TLS-Required: no passes over what the receiving domain publishes, not over what our operator demands.
    CHECK(level_for(TlsRequirement::optional, TlsLevel::dane) == TlsLevel::may);
    CHECK(level_for(TlsRequirement::optional, TlsLevel::sts) == TlsLevel::may);
    for (const auto level : {TlsLevel::none, TlsLevel::may, TlsLevel::encrypt, TlsLevel::verify, TlsLevel::dane_only}) {
        CHECK(level_for(TlsRequirement::optional, level) == level);
        CHECK(level_for(TlsRequirement::none, level) == level);
    }
    // REQUIRETLS wants proof: records may give it.
    CHECK(level_for(TlsRequirement::required, TlsLevel::may) == TlsLevel::dane);
    CHECK(level_for(TlsRequirement::required, TlsLevel::verify) == TlsLevel::verify);
}

TEST_CASE("mail goes over a connection that shows what the mail demands") {
    const TlsState in_plain_text, anybody{true, Proof::none, ""}, trusted{true, Proof::authority, ""},
        recorded{true, Proof::records, ""}, for_one{true, Proof::records, "example.org"};
    struct {
        TlsDemand demand;
        bool plain, anybody, trusted, recorded, for_one;
    } const table[] = {
        {TlsDemand::plain, true, true, true, true, true},      {TlsDemand::welcome, true, true, true, true, true},
        {TlsDemand::encrypted, false, true, true, true, true}, {TlsDemand::authority, false, false, true, false, false},
        {TlsDemand::records, false, false, false, true, true},
    };
    for (const auto& row : table) {
        CAPTURE(static_cast<int>(row.demand));
        CHECK(satisfies(in_plain_text, row.demand, "example.org") == row.plain);
        CHECK(satisfies(anybody, row.demand, "example.org") == row.anybody);
        CHECK(satisfies(trusted, row.demand, "example.org") == row.trusted);
        CHECK(satisfies(recorded, row.demand, "example.org") == row.recorded);
        CHECK(satisfies(for_one, row.demand, "example.org") == row.for_one);
    }
    CHECK_FALSE(satisfies(for_one, TlsDemand::records, "example.net"));
    CHECK(satisfies(for_one, TlsDemand::encrypted, "example.net"));
}

TEST_CASE("the words of reports (RFC 8460, 4.3)") {
    CHECK(word_of(TlsResult::starttls_not_supported) == "starttls-not-supported");
    CHECK(word_of(TlsResult::dane_required) == "dane-required");
    CHECK(word_of(TlsResult::sts_webpki_invalid) == "sts-webpki-invalid");
    CHECK(word_of(TlsPolicyType::none) == "no-policy-found");
}

#include "daemons/smtp-client/tls/tls_negotiation.h"
#include "daemons/common/net/network.h"
#include <fmt/format.h>
#include <ranges>
#include <utility>

namespace smtp_client {

using decide::TlsDemand;
using decide::TlsLevel;
using decide::TlsResult;
using proto::route::StsPolicy;

const std::string& TlsNeeds::certificates() const {
    static const std::string none;
    return tls ? tls->certificates_shown() : none;
}

TlsNegotiation::TlsNegotiation(TlsPeer host, TlsNeeds needs, Fallback fallback)
    : host_(std::move(host)), needs_(std::move(needs)), fallback_(fallback) {}

// Yes if the host cannot have been replaced by another one, and has a name that may have records.
bool TlsNegotiation::dane_applies(bool secure) const { return secure && !common::IpAddress::parse(host_.name); }

decide::StsMatch TlsNegotiation::match(const StsPolicy& policy) const {
    if (policy.mode != decide::sts::Mode::enforce) return decide::StsMatch::nothing;
    return decide::sts::admits(policy.mx, host_.name) ? decide::StsMatch::usable : decide::StsMatch::other;
}

std::string TlsNegotiation::not_in_policy_text(const StsPolicy& policy) const {
    return fmt::format("host {} is not listed in the MTA-STS policy of {} (id {})", host_.text, policy.domain,
                       policy.id);
}

decide::TlsDecision TlsNegotiation::decide(const StsPolicy* policy) {
    const auto word = policy ? match(*policy) : decide::StsMatch::nothing;
    auto decision = decide_tls(needs_.level, records_.value_or(decide::DaneResult{}), word, host_.name);
    demand_ = decision.demand;
    using Demand = smtp::FailureDetails::Demand;
    demanded_by_ = demand_ == TlsDemand::records                                      ? Demand::records
                   : demand_ == TlsDemand::authority && needs_.level == TlsLevel::sts ? Demand::policy
                                                                                      : Demand::level;
    if (policy && decision.result == TlsResult::validation_failure) decision.refusal = not_in_policy_text(*policy);
    return decision;
}

smtp::ClientSession::StartTls TlsNegotiation::starttls_mode(Available available) const {
    using StartTls = smtp::ClientSession::StartTls;
    if (host_.implicit_tls) return StartTls::wrapped;
    if (is_mandatory(demand_)) return StartTls::always;
    const bool plain = demand_ == TlsDemand::plain || fallback_ == Fallback::plain_text || available == Available::no;
    return plain ? StartTls::never : StartTls::if_offered;
}

tls::ServerIdentity TlsNegotiation::identity() const {
    if (demand_ != TlsDemand::records) return {host_.name};
    tls::ServerIdentity out{records_->base, records_->records};
    // Also the names that led there (RFC 7672, 3.2.2).
    if (host_.name != out.host) out.other_names.push_back(host_.name);
    if (host_.of_mx && !needs_.domain.empty()) out.other_names.push_back(needs_.domain);
    return out;
}

// A session may only be resumed on the terms it was negotiated on: same address, same demands, expectations and
// certificates of ours.
std::string TlsNegotiation::resumption_name(std::string_view relay, std::string_view source) const {
    return fmt::format("{} {} {} {} {}", relay, static_cast<int>(demand_), identity().fingerprint(), source,
                       needs_.certificates());
}

bool TlsNegotiation::judge(const tls::ConnectionInfo& facts, const tls::CertificateVerdict& judgement) {
    state_ = {true, judgement.proof, ""};
    certificate_is_of_session_ = facts.own != tls::ConnectionInfo::OwnCertificate::not_requested || facts.resumed;
    if (state_.verified() && !judgement.of_host) state_.only_for = needs_.domain;
    text_ = facts.version + " " + facts.cipher + (state_.verified() ? fmt::format(", verified {}", proven_how()) : "");
    certificate_ = judgement.result;
    certificate_problem_ = judgement.certificate.empty() ? "there is none" : judgement.problem;
    if (satisfies(state_, demand_, needs_.domain)) return true;
    result_ = judgement.result;
    return false;
}

std::string_view TlsNegotiation::proven_how() const {
    using Proof = decide::TlsState::Proof;
    return state_.proof == Proof::records ? "by DANE" : state_.proof == Proof::authority ? "by authority" : "";
}

std::string TlsNegotiation::certificate_mismatch_text(const tls::CertificateVerdict& judgement) const {
    if (demand_ != TlsDemand::records)
        return fmt::format("the certificate of {} does not prove that it is {}: {}", host_.text, host_.name,
                           certificate_problem_);
    constexpr std::size_t told = 2;
    std::string records;
    for (const auto& record : records_->records | std::views::take(told))
        records += (records.empty() ? "" : ", ") + record.to_string().substr(0, 70);
    if (records_->records.size() > told) records += fmt::format(" and {} more", records_->records.size() - told);
    return fmt::format("the certificate of {} ({}) does not match the TLSA records of {} ({}): {}", host_.text,
                       judgement.certificate, records_->owner, records, certificate_problem_);
}

// If TLS is only opportunistic, a server that offers it but cannot do it gets its mail without.
bool TlsNegotiation::may_fall_back() const {
    return demand_ == TlsDemand::welcome && fallback_ == Fallback::none && !host_.implicit_tls;
}

bool TlsNegotiation::admits(const TlsNeeds& needs, bool dane, const StsPolicy& policy) const {
    if (state_.encrypted && certificate_is_of_session_ && needs.certificates() != needs_.certificates()) return false;
    const bool asks = asks_dane(needs.level) && dane;
    if (asks && !records_) return false; // the host's records have not been asked for
    const auto decision = decide_tls(needs.level, asks ? *records_ : decide::DaneResult{}, match(policy), host_.name);
    return decision.refusal.empty() && satisfies(state_, decision.demand, needs.domain);
}

std::string TlsNegotiation::missing_requirement(const std::string& domain, bool offered, bool secure,
                                                const StsPolicy& policy) const {
    const auto& host = host_.text;
    const bool named = policy.mode != decide::sts::Mode::none && decide::sts::admits(policy.mx, host_.name);
    const bool proven =
        satisfies(state_, TlsDemand::authority, domain) || satisfies(state_, TlsDemand::records, domain);
    const auto what = !state_.encrypted ? fmt::format("host {} was reached without TLS", host)
                      : !proven         ? fmt::format("host {} has no certificate that proves its name", host)
                      : !offered        ? fmt::format("host {} does not offer REQUIRETLS", host)
                      : host_.of_mx && !secure && !named
                          ? fmt::format("host {} is secured neither by DNSSEC nor by an MTA-STS policy", host)
                          : std::string();
    return what.empty() ? what : fmt::format("message requires TLS on the whole path (REQUIRETLS), and {}", what);
}

// --- reports ---

bool TlsNegotiation::has_tlsa_records() const {
    return records_ && records_->state != decide::DaneResult::State::absent;
}

// What a policy in testing mode would have stopped is reported like what an enforced one has stopped.
std::optional<TlsNegotiation::Finding> TlsNegotiation::finding_of_session(const StsPolicy& policy) const {
    if (fallback_ == Fallback::plain_text) return {}; // why there is no TLS was reported when it failed
    if (!state_.encrypted) return Finding{TlsResult::starttls_not_supported, ""};
    if (policy.mode == decide::sts::Mode::testing && !has_tlsa_records()) {
        if (!decide::sts::admits(policy.mx, host_.name))
            return Finding{TlsResult::validation_failure, not_in_policy_text(policy)};
        if (!state_.verified()) return Finding{certificate_, certificate_problem_};
    }
    return Finding{TlsResult::success, ""};
}

std::optional<decide::TlsOutcome> TlsNegotiation::outcome(TlsResult result, const std::string& reason,
                                                          const StsPolicy& policy) const {
    if (demand_ == TlsDemand::plain) return {};
    // Otherwise two systems would report on each other's reports forever.
    if (needs_.domain.empty() || needs_.of_report) return {};
    const bool dane = has_tlsa_records();
    decide::TlsOutcome outcome;
    outcome.domain = dane || policy.mode == decide::sts::Mode::none ? needs_.domain : policy.domain;
    outcome.host = host_.name;
    if (dane) {
        outcome.policy = decide::TlsPolicyType::tlsa;
        for (const auto& record : records_->records) outcome.records.push_back(record.to_string());
    } else if (policy.mode != decide::sts::Mode::none) {
        outcome.policy = decide::TlsPolicyType::sts;
    }
    outcome.result = result;
    outcome.reason = reason;
    return outcome;
}

} // namespace smtp_client

#include "daemons/decide/tls/tls_policy.h"
#include <algorithm>
#include <fmt/format.h>

namespace decide {

TlsLevel level_for(TlsRequirement wish, TlsLevel level) {
    if (wish == TlsRequirement::required && level == TlsLevel::may) return TlsLevel::dane;
    if (wish == TlsRequirement::optional && (level == TlsLevel::dane || level == TlsLevel::sts)) return TlsLevel::may;
    return level;
}

TlsDecision decide_tls(TlsLevel level, const DaneResult& dane, StsMatch sts, std::string_view host) {
    using State = DaneResult::State;
    switch (level) {
    case TlsLevel::none: return {TlsDemand::plain, {}};
    case TlsLevel::by_default:
    case TlsLevel::may: return {TlsDemand::welcome, {}};
    case TlsLevel::encrypt: return {TlsDemand::encrypted, {}};
    case TlsLevel::verify: return {TlsDemand::authority, {}};
    case TlsLevel::dane:
    case TlsLevel::sts:
    case TlsLevel::dane_only: break;
    }
    const bool only = level == TlsLevel::dane_only;
    switch (dane.state) {
    case State::usable: return {TlsDemand::records, {}};
    case State::unavailable:
        return {TlsDemand::records,
                fmt::format("the TLSA records of {}, which identify the certificate of host {}, are not "
                            "available: {}",
                            dane.owner, host, dane.why),
                TlsResult::dnssec_invalid};
    case State::unusable:
        if (!only) break;
        return {TlsDemand::records,
                fmt::format("DANE is required, but none of the TLSA records of {} can be used ({}{})", dane.owner,
                            dane.records.front().to_string().substr(0, 30), dane.records.size() > 1 ? ", …" : ""),
                TlsResult::tlsa_invalid};
    case State::absent: break;
    }
    if (only)
        return {TlsDemand::records,
                fmt::format("DANE is required, but host {} has no TLSA records secured by DNSSEC", host),
                TlsResult::dane_required};
    // Records that cannot be used demand TLS, and prove nothing (RFC 7672, 2.2): the domain's policy still may.
    const bool unusable = dane.state == State::unusable;
    const auto found = unusable ? TlsResult::tlsa_invalid : TlsResult::success;
    if (level != TlsLevel::sts || sts == StsMatch::nothing)
        return {unusable ? TlsDemand::encrypted : TlsDemand::welcome, {}, found};
    if (sts == StsMatch::usable) return {TlsDemand::authority, {}, found};
    return {TlsDemand::authority, fmt::format("host {} is not listed in the MTA-STS policy of the domain", host),
            TlsResult::validation_failure};
}

bool satisfies(const TlsState& state, TlsDemand demand, std::string_view domain) {
    const bool its_own = state.only_for.empty() || state.only_for == domain;
    switch (demand) {
    case TlsDemand::plain:
    case TlsDemand::welcome: return true;
    case TlsDemand::encrypted: return state.encrypted;
    case TlsDemand::authority: return state.proof == TlsState::Proof::authority && its_own;
    case TlsDemand::records: return state.proof == TlsState::Proof::records && its_own;
    }
    return false;
}

} // namespace decide

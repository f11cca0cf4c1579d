// How much TLS the mail for a domain must have on its way to the next hop: from the configured level and the host's
// records to the proof that a connection must show. Pure; the levels are named as in the configuration.
#pragma once
#include "daemons/decide/tls/dane.h"
#include "daemons/decide/tls/tls_outcome.h"
#include <cstdint>
#include <string>
#include <string_view>

namespace decide {

// From weak to strong: mail under several levels gets the strongest.
enum class TlsLevel : std::uint8_t {
    by_default, // of a route: that of [smtp_client]
    none,       // plain text, even if TLS is offered
    may,        // TLS if offered and working, else plain text
    dane,       // what the host's TLSA records demand; without any, as may
    sts,        // the same, and if they demand nothing, what the domain's policy demands (mta_sts.h)
    encrypt,    // TLS, with any certificate
    verify,     // TLS, and a certificate for this host from a trusted authority
    dane_only,  // TLS, and a certificate that TLSA records name
};

constexpr bool is_mandatory(TlsLevel level) { return level >= TlsLevel::encrypt; }
// Are TLSA records needed?
constexpr bool asks_dane(TlsLevel level) {
    return level == TlsLevel::dane || level == TlsLevel::sts || level == TlsLevel::dane_only;
}

// What the message itself demands (RFC 8689).
enum class TlsRequirement : std::uint8_t {
    none,
    required, // REQUIRETLS: what a level does not demand must be proven, too, so records are looked up
    optional, // TLS-Required: no: what the receiving domain publishes is ignored; what our operator demands holds
};
TlsLevel level_for(TlsRequirement wish, TlsLevel level);

// What a connection must show before mail is sent over it.
enum class TlsDemand : std::uint8_t {
    plain,     // nothing, and TLS is not tried
    welcome,   // nothing, but TLS is tried first
    encrypted, // TLS
    authority, // TLS, and a trusted authority that vouches for the host
    records,   // TLS, and a certificate that the TLSA records name
};
constexpr bool is_mandatory(TlsDemand demand) { return demand >= TlsDemand::encrypted; }

struct TlsDecision {
    TlsDemand demand = TlsDemand::welcome;
    std::string refusal;                   // not empty: nothing may be sent to the host now; why
    TlsResult result = TlsResult::success; // the same for reports; success: nothing to report
    bool operator==(const TlsDecision&) const = default;
};

// How the MTA-STS policy of the mail's domain applies to a host.
enum class StsMatch : std::uint8_t {
    nothing, // there is none in force
    usable,  // … with a certificate that proves its name
    other,   // the host may not be used
};

// `host`: for texts. DANE comes first: if the records make a demand, no other policy of the domain counts (RFC 8461,
// 2). Unusable records say nothing about the certificate.
TlsDecision decide_tls(TlsLevel level, const DaneResult& dane, StsMatch sts, std::string_view host);

// What a connection has shown.
struct TlsState {
    enum class Proof : std::uint8_t { none, authority, records };
    bool encrypted = false;
    Proof proof = Proof::none;
    std::string only_for; // the proof is of that domain, and holds for its mail alone; "": of the host
    bool operator==(const TlsState&) const = default;
    bool verified() const { return proof != Proof::none; }
};

// May mail for `domain` with this demand be sent over it?
bool satisfies(const TlsState& state, TlsDemand demand, std::string_view domain);

} // namespace decide

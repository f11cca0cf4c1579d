// How much TLS the mail for a domain must have on its way to the next hop: from the level that somebody chose and
// what the host's records say to what a connection must show. Pure; the levels' words are those of the
// configuration.
#pragma once
#include "daemons/decide/tls/dane.h"
#include "daemons/decide/tls/tls_outcome.h"
#include <cstdint>
#include <string>
#include <string_view>

namespace decide {

// From weak to strong: mail that comes under several has the strongest.
enum class TlsLevel : std::uint8_t {
    by_default, // of a route: that of [smtp_client]
    none,       // plain text, even if TLS is offered
    may,        // TLS if offered and working, else plain text
    dane,       // what the host's TLSA records demand; where there are none, as may
    sts,        // the same, and where they say nothing what the domain's policy demands (mta_sts.h)
    encrypt,    // TLS, whoever's certificate it is
    verify,     // TLS, and a certificate somebody trusted gave to this host
    dane_only,  // TLS, and a certificate that TLSA records name
};

constexpr bool is_mandatory(TlsLevel level) { return level >= TlsLevel::encrypt; }
// Does it matter what TLSA records say?
constexpr bool asks_dane(TlsLevel level) {
    return level == TlsLevel::dane || level == TlsLevel::sts || level == TlsLevel::dane_only;
}

// What the message itself says of TLS (RFC 8689).
enum class TlsRequirement : std::uint8_t {
    none,
    required, // REQUIRETLS: also what a level does not demand must be proven, so records are asked for
    optional, // TLS-Required: no: what the receiving domain publishes is ignored; what our operator demands holds
};
TlsLevel level_for(TlsRequirement wish, TlsLevel level);

// What a connection has to show before mail goes over it.
enum class TlsDemand : std::uint8_t {
    plain,     // nothing, and TLS is not tried
    welcome,   // nothing, but TLS is tried first
    encrypted, // TLS
    authority, // TLS, and a trusted authority's word that it is the host
    records,   // TLS, and a certificate that the TLSA records name
};
constexpr bool is_mandatory(TlsDemand demand) { return demand >= TlsDemand::encrypted; }

struct TlsDecision {
    TlsDemand demand = TlsDemand::welcome;
    std::string refusal;                   // not empty: nothing may be sent to the host now; why
    TlsResult result = TlsResult::success; // the same for reports; success: nothing to be said
    bool operator==(const TlsDecision&) const = default;
};

// What the MTA-STS policy of the mail's domain says of a host.
enum class StsMatch : std::uint8_t {
    nothing, // there is none in force
    usable,  // … with a certificate that proves its name
    other,   // it is none of the hosts that may be used
};

// `host`: for texts. DANE comes first: where the records say something, no other policy of the domain counts
// (RFC 8461, 2). Records that cannot be used say nothing of the certificate.
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

// May mail for `domain` that demands this go over it?
bool satisfies(const TlsState& state, TlsDemand demand, std::string_view domain);

} // namespace decide

// How much TLS the mail for a domain must have on its way to the next hop. Pure; the words are those of the
// configuration.
#pragma once
#include <cstdint>

namespace decide {

enum class TlsLevel : std::uint8_t {
    by_default, // of a route: that of [smtp_client]
    none,       // plain text, even if TLS is offered
    may,        // TLS if offered and working, else plain text
    sts,        // the same, and where the domain has a policy (mta_sts.h) what that demands
    encrypt,    // TLS, whoever's certificate it is
    verify,     // TLS, and a certificate somebody trusted gave to this host
};

constexpr bool is_mandatory(TlsLevel level) { return level >= TlsLevel::encrypt; }

// What a connection has to show.
struct TlsState {
    bool encrypted = false, verified = false;
};

constexpr bool satisfies(TlsState state, TlsLevel level) {
    return level == TlsLevel::verify ? state.verified : level != TlsLevel::encrypt || state.encrypted;
}

} // namespace decide

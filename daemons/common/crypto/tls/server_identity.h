// The server that a client means to reach, and how its certificate proves this: by authorities, or by TLSA
// records (DANE, RFC 7672). Knows OpenSSL; must not know where names and records come from, nor the policy.
#pragma once
#include "daemons/decide/tls/dane.h"
#include "daemons/decide/tls/tls_policy.h"
#include <openssl/ssl.h>
#include <string>
#include <vector>

namespace tls {

struct ServerIdentity {
    std::string host; // its name (said to it, SNI), or a literal address
    // Not empty: these alone decide, whatever authorities say. Usable ones only.
    std::vector<decide::TlsaRecord> records = {};
    // Names that a certificate may bear instead of `host` where a record names who issued it (usage 2; RFC 7672,
    // 3.2.2).
    std::vector<std::string> other_names = {};
    // Of all that: 64 characters. A session is only come back to by who expects the same.
    std::string fingerprint() const;
};

// What a certificate came to. Default: there was none.
struct CertificateVerdict {
    using Proof = decide::TlsState::Proof;
    Proof proof = Proof::none;
    bool of_host = false;    // the proof is of `host`; else of one of the other names only
    std::string problem;     // no proof: what is wrong with the certificate, in a few words
    std::string certificate; // which it was: "3 1 1 8CB0FC6C…", as a TLSA record would name it
    decide::TlsResult result = decide::TlsResult::validation_failure; // the same for reports
};

// Before the handshake. False: OpenSSL has no memory for it.
bool set_expected_identity(SSL* ssl, const ServerIdentity& identity);
// After it.
CertificateVerdict verify_certificate(SSL* ssl, const ServerIdentity& identity);

// A record that holds a whole certificate or key (matching type 0) holds one that can be read.
bool is_well_formed(const decide::TlsaRecord& record);

} // namespace tls

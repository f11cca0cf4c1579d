#include "daemons/common/crypto/tls/server_identity.h"
#include "daemons/common/crypto/tls/context.h"
#include <algorithm>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509v3.h>

namespace tls {

using decide::TlsaRecord;
using decide::TlsResult;

namespace {

const unsigned char* bytes_of(const std::string& text) { return reinterpret_cast<const unsigned char*>(text.data()); }

bool expect_records(SSL* ssl, const ServerIdentity& identity) {
    // Sets the name to be verified, and the one sent to the server.
    if (SSL_dane_enable(ssl, identity.host.c_str()) <= 0) return false;
    // A record of usage 3 identifies the certificate itself: its other content does not matter (RFC 7672, 3.1.1).
    SSL_dane_set_flags(ssl, DANE_FLAG_NO_DANE_EE_NAMECHECKS);
    for (const auto& name : identity.other_names)
        if (SSL_add1_host(ssl, name.c_str()) != 1) return false;
    return std::ranges::all_of(identity.records, [&](const TlsaRecord& record) {
        return SSL_dane_tlsa_add(ssl, record.usage, record.selector, record.matching, bytes_of(record.data),
                                 record.data.size()) == 1;
    });
}

// As a TLSA record "3 1 1" names it: by the SHA-256 of its key.
std::string record_of(X509* certificate) {
    unsigned char* key = nullptr;
    const int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &key);
    if (size <= 0) return "";
    TlsaRecord record{3, 1, 1, std::string(32, '\0')};
    EVP_Digest(key, static_cast<std::size_t>(size), reinterpret_cast<unsigned char*>(record.data.data()), nullptr,
               EVP_sha256(), nullptr);
    OPENSSL_free(key);
    return record.to_string();
}

TlsResult result_of(long verdict) {
    switch (verdict) {
    case X509_V_OK: return TlsResult::success;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH: return TlsResult::certificate_host_mismatch;
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID: return TlsResult::certificate_expired;
    default: return TlsResult::certificate_not_trusted;
    }
}

} // namespace

std::string ServerIdentity::fingerprint() const {
    auto text = host;
    for (const auto& record : records) text += '\n' + record.to_string();
    text += '\n';
    for (const auto& name : other_names) text += '\n' + name;
    unsigned char digest[32];
    EVP_Digest(text.data(), text.size(), digest, nullptr, EVP_sha256(), nullptr);
    std::string out;
    for (const unsigned char c : digest) out += fmt::format("{:02x}", c);
    return out;
}

bool set_expected_identity(SSL* ssl, const ServerIdentity& identity) {
    auto* const wanted = SSL_get0_param(ssl);
    X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (!identity.records.empty()) return expect_records(ssl, identity);
    const auto* host = identity.host.c_str();
    return X509_VERIFY_PARAM_set1_ip_asc(wanted, host) == 1 || // else a name
           (SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1);
}

CertificateVerdict verify_certificate(SSL* ssl, const ServerIdentity& identity) {
    CertificateVerdict out;
    auto* const peer = SSL_get0_peer_certificate(ssl);
    if (!peer) return out;
    out.certificate = record_of(peer);
    const auto verdict = SSL_get_verify_result(ssl);
    out.result = result_of(verdict);
    if (verdict != X509_V_OK) {
        out.problem = X509_verify_cert_error_string(verdict);
        return out;
    }
    out.proof = identity.records.empty() ? CertificateVerdict::Proof::authority : CertificateVerdict::Proof::records;
    const auto names_issuer = [](const TlsaRecord& record) { return record.usage == 2; };
    out.of_host = identity.other_names.empty() || std::ranges::none_of(identity.records, names_issuer) ||
                  X509_check_host(peer, identity.host.data(), identity.host.size(),
                                  X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS, nullptr) == 1;
    return out;
}

bool is_well_formed(const TlsaRecord& record) {
    if (record.matching != 0) return true;
    const auto* at = bytes_of(record.data);
    const auto* const end = at + record.data.size();
    const auto size = static_cast<long>(record.data.size());
    ERR_clear_error();
    bool whole = false;
    if (record.selector == 0) {
        X509* certificate = d2i_X509(nullptr, &at, size);
        whole = certificate && at == end;
        X509_free(certificate);
    } else {
        EVP_PKEY* key = d2i_PUBKEY(nullptr, &at, size);
        whole = key && at == end;
        EVP_PKEY_free(key);
    }
    ERR_clear_error();
    return whole;
}

} // namespace tls

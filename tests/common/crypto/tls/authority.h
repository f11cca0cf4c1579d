// Certificates of the test's own making.
#pragma once
#include "daemons/common/crypto/tls/context.h"
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string>

namespace tls::testing {

inline std::string text_of(BIO* bio) {
    char* data = nullptr;
    const auto size = BIO_get_mem_data(bio, &data);
    std::string text(data, static_cast<std::size_t>(size));
    BIO_free(bio);
    return text;
}

inline EVP_PKEY* key_of(const proto::secrets::Certificate& of) {
    auto* bio = BIO_new_mem_buf(of.key.data(), static_cast<int>(of.key.size()));
    auto* key = PEM_read_bio_PrivateKey(bio, nullptr, nullptr, nullptr);
    BIO_free(bio);
    return key;
}
inline X509* first_of(const proto::secrets::Certificate& of) {
    auto* bio = BIO_new_mem_buf(of.chain.data(), static_cast<int>(of.chain.size()));
    auto* certificate = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
    BIO_free(bio);
    return certificate;
}

// For these DNS names ("DNS:a.example,DNS:b.example"; "": of an authority), signed by `issuer` (whose chain follows
// in its own) or by itself; good until `ends` seconds from now.
inline proto::secrets::Certificate make_certificate(const std::string& common_name, const std::string& names,
                                                    const proto::secrets::Certificate* issuer = nullptr,
                                                    long ends = 3600) {
    auto* key = EVP_EC_gen("P-256");
    auto* certificate = X509_new();
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -7200);
    X509_gmtime_adj(X509_getm_notAfter(certificate), ends);
    X509_set_pubkey(certificate, key);
    auto* name = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(common_name.c_str()),
                               -1, -1, 0);
    auto* above = issuer ? first_of(*issuer) : nullptr;
    X509_set_issuer_name(certificate, above ? X509_get_subject_name(above) : name);
    auto* extension = names.empty() ? X509V3_EXT_conf_nid(nullptr, nullptr, NID_basic_constraints, "critical,CA:TRUE")
                                    : X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, names.c_str());
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
    auto* signing = issuer ? key_of(*issuer) : nullptr;
    X509_sign(certificate, signing ? signing : key, EVP_sha256());
    EVP_PKEY_free(signing);
    X509_free(above);
    proto::secrets::Certificate out;
    out.file = common_name + ".pem";
    auto* chain = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(chain, certificate);
    out.chain = text_of(chain) + (issuer ? issuer->chain : "");
    auto* secret = BIO_new(BIO_s_mem());
    PEM_write_bio_PrivateKey(secret, key, nullptr, nullptr, 0, nullptr, nullptr);
    out.key = text_of(secret);
    X509_free(certificate);
    EVP_PKEY_free(key);
    return out;
}

inline proto::secrets::TicketKey ticket_key(char fill) {
    return {std::string(16, fill), std::string(32, fill), std::string(32, fill)};
}

} // namespace tls::testing

// What came of a try to have TLS with a host, in the words of TLSRPT (RFC 8460): for the reports that its domain
// asks for. A plain value; knows no connection.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace decide {

enum class TlsPolicyType : std::uint8_t { none, tlsa, sts, last_ = sts };
// RFC 8460, 4.3.
enum class TlsResult : std::uint8_t {
    success,
    starttls_not_supported,
    certificate_host_mismatch,
    certificate_not_trusted,
    certificate_expired,
    validation_failure, // anything else about the handshake or the certificate
    tlsa_invalid,       // no record of the host is of a kind that can be used
    dnssec_invalid,     // its records cannot be looked up, or are forged
    dane_required,      // our own policy demands DANE, and there is none
    sts_policy_fetch_error,
    sts_policy_invalid,
    sts_webpki_invalid,
    last_ = sts_webpki_invalid,
};

struct TlsOutcome {
    std::string domain;  // the policy's: that of the recipients
    std::string host;    // the MX host's name
    std::string address; // of it
    std::string helo;    // what it calls itself; "" where it did not get to say
    std::string sender;  // our own address; "" likewise
    TlsPolicyType policy = TlsPolicyType::none;
    std::vector<std::string> records; // tlsa: "3 1 1 8CB0FC6C…"
    TlsResult result = TlsResult::success;
    std::string reason; // of a failure, in words
    bool operator==(const TlsOutcome&) const = default;
};

// The word of RFC 8460, "certificate-host-mismatch".
constexpr std::string_view word_of(TlsResult result) {
    constexpr std::string_view words[] = {
        "success",
        "starttls-not-supported",
        "certificate-host-mismatch",
        "certificate-not-trusted",
        "certificate-expired",
        "validation-failure",
        "tlsa-invalid",
        "dnssec-invalid",
        "dane-required",
        "sts-policy-fetch-error",
        "sts-policy-invalid",
        "sts-webpki-invalid",
    };
    static_assert(std::size(words) == static_cast<std::size_t>(TlsResult::last_) + 1);
    return words[static_cast<std::size_t>(result)];
}

// "no-policy-found", "tlsa", "sts".
constexpr std::string_view word_of(TlsPolicyType policy) {
    constexpr std::string_view words[] = {"no-policy-found", "tlsa", "sts"};
    return words[static_cast<std::size_t>(policy)];
}

} // namespace decide

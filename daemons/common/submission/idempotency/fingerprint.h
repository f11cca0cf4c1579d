// The identity of a message for recognising a repeated submission: a SHA-256 over its
// content without the fields that change from one attempt to the next (Date, Message-ID,
// Received), and over its envelope. Computed while the content streams past. Knows no keys.
#pragma once
#include "libsmtp/message/control_fields.h"
#include <memory>
#include <string>
#include <string_view>

typedef struct evp_md_ctx_st EVP_MD_CTX;

namespace common::idempotency {

class Fingerprint {
public:
    Fingerprint();
    Fingerprint(const Fingerprint&) = delete;

    // Content with CRLF line ends, in order.
    void feed(std::string_view content);
    // The content has ended; `request`: decide::idempotency::request_of. 32 bytes. Call once, last.
    std::string finish(std::string_view request);

private:
    void hash(std::string_view bytes);

    struct Free {
        void operator()(EVP_MD_CTX* context) const;
    };
    smtp::ControlFields left_out_;
    std::unique_ptr<EVP_MD_CTX, Free> context_;
    std::string kept_;
};

// The key's name in a store: 32 bytes.
std::string name_in_store(std::string_view submitter, std::string_view key);

} // namespace common::idempotency

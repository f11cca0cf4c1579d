// Signing with DKIM (RFC 6376, 8301, 8463), relaxed/relaxed: the forms of header and body that are signed, which
// fields are, and the DKIM-Signature field. Knows no keys and no hash function: both come in as functions.
#pragma once
#include "libsmtp/message/header.h"
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smtp::dkim {

enum class Algorithm { rsa_sha256, ed25519_sha256 };

// "relaxed" body canonicalization (3.4.4) of content that comes in chunks of any size. What it makes goes to
// `sink`: the same bytes however the body was cut. A line end is CRLF; a bare LF is taken for one.
class RelaxedBody {
public:
    explicit RelaxedBody(std::function<void(std::string_view)> sink) : sink_(std::move(sink)) {}
    void feed(std::string_view chunk);
    void finish();

private:
    void put(std::string_view text);

    std::function<void(std::string_view)> sink_;
    std::string out_;             // not given to the sink yet
    std::uint64_t line_ends_ = 0; // not put yet: those at the end of the body do not count
    bool blanks_ = false;         // the same, within a line
    bool cr_ = false;             // the last byte was one
    bool any_ = false;            // something has been put
};

// "relaxed" header canonicalization (3.4.2) of a whole field: "subject:a b\r\n".
std::string relaxed_field(const HeaderField& field);

// Splits a message as it streams past: keeps its header, gives the canonical body to `sink`.
class SplitMessage {
public:
    static constexpr std::size_t header_limit = 4 * 1024 * 1024;

    explicit SplitMessage(std::function<void(std::string_view)> sink) : body_(std::move(sink)) {}
    void feed(std::string_view chunk);
    void finish() { body_.finish(); }
    // With the empty line behind it, if there is one.
    const std::string& header() const { return header_; }
    // The header is longer than header_limit: no mail to be signed.
    bool overlong() const { return header_.size() > header_limit; }

private:
    std::string header_;
    bool in_body_ = false;
    RelaxedBody body_;
};

// The fields that are signed, as h= lists them: those there are, and where more of one would mislead a reader
// (From, To, Subject …) its name once more than it is there, so that none can be added (8.15). Nothing where
// there is not exactly one From, or more than name_limit names.
inline constexpr std::size_t name_limit = 500;
std::optional<std::vector<std::string_view>> signed_fields(const HeaderBlock& header);

struct Signature {
    std::string domain, selector; // ASCII (A-labels)
    Algorithm algorithm = Algorithm::rsa_sha256;
    std::int64_t time = 0;                  // t=, seconds since 1970
    std::optional<std::int64_t> expiration; // x=
    std::string identity;                   // i=; "" none: then it is "@" and the domain
};

// What signs: the raw signature of these bytes (the algorithm's own hash is its affair), or nothing.
using Sign = std::function<std::optional<std::string>(std::string_view)>;

// The whole field "DKIM-Signature: …CRLF" for that header; `body_hash` is the raw SHA-256 of the body. Nothing
// where `sign` gave nothing.
std::optional<std::string> signature_field(const HeaderBlock& header, const std::vector<std::string_view>& names,
                                           std::string_view body_hash, const Signature& signature, const Sign& sign);

} // namespace smtp::dkim

// DANE for SMTP (RFC 7672): what to look up for a host, in which order, and how to interpret the answers. Pure: lookups
// are made by the caller and passed in as values. What a certificate must then show is tls_policy.h's business.
#pragma once
#include "daemons/decide/hosts/mx.h"
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace decide {

struct TlsaRecord { // RFC 6698, 2.1
    std::uint8_t usage = 0, selector = 0, matching = 0;
    std::string data; // bytes
    // Usages 2 and 3 with a known selector and digest, of the right length (RFC 7672, 3.1).
    bool usable() const;
    std::string to_string() const; // "3 1 1 8CB0FC6C…", as in a zone file
    bool operator==(const TlsaRecord&) const = default;
    auto operator<=>(const TlsaRecord&) const = default;
};

// What the DNS says about a host's certificate.
struct DaneResult {
    enum class State : std::uint8_t {
        absent,      // no records that can be trusted
        usable,      // `records` say which certificate it is
        unusable,    // there are records, but of no kind that can be used
        unavailable, // no answer, or a forged one: `why`
    };
    State state = State::absent;
    std::string owner;               // "_25._tcp.mx.example.org"; absent: ""
    std::string base;                // the TLSA base domain, "mx.example.org"; absent: ""
    std::vector<TlsaRecord> records; // sorted; unusable: all, for texts
    std::string why;                 // "SERVFAIL", "timeout"
    bool answered = false;           // absent: DNSSEC vouches for the host, but it has no TLSA records
    bool operator==(const DaneResult&) const = default;
};

class DaneLookup {
public:
    // Does a record that is usable by its numbers contain what they say? (A certificate that can be parsed …)
    using WellFormed = std::function<bool(const TlsaRecord&)>;
    // `secure`: the host's name comes from a validated answer or from our own configuration.
    DaneLookup(std::string host, std::uint16_t port, bool secure, WellFormed well_formed = {});

    struct Question {
        enum class About : std::uint8_t {
            addresses, // A and AAAA
            alias,     // CNAME
            tlsa,
        };
        About about;
        std::string name;
    };
    // What to look up next; nothing: findings() are complete.
    const std::optional<Question>& question() const { return question_; }
    // Answers to the question of that kind. `secure`: validated by DNSSEC. `canonical`: the name at the end of all
    // aliases.
    void addresses(LookupStatus said, bool secure, std::string_view canonical, std::string_view why);
    void alias(LookupStatus said, bool secure, std::string_view why);
    void tlsa(LookupStatus said, bool secure, std::vector<TlsaRecord> records, std::string_view why);

    const DaneResult& findings() const { return findings_; }

private:
    void ask_tlsa();
    void unavailable(std::string_view why);

    std::string host_;
    std::uint16_t port_;
    WellFormed well_formed_;
    std::vector<std::string> bases_; // still to be asked, the next one last
    std::optional<Question> question_;
    DaneResult findings_;
};

} // namespace decide

// Which of our domains signs a message (DKIM, RFC 6376), if any: by how the message reached us and by the domain it is
// from. Pure; knows keys only by name, and nothing about signing itself.
#pragma once
#include "libsmtp/text/time_types.h"
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace decide {

// How mail came, as a set of bits: a message may have come in more than one of these ways.
enum class MailOrigin : std::uint8_t {
    local = 1,         // from a program on this host
    submission = 2,    // over a submission listener
    authenticated = 4, // from a client authenticated by AUTH
    networks = 8,      // from relay.networks
    reports = 16,      // written by us: NDRs and the like
    other = 32,        // from any other client, for us or for a domain we relay for
};
constexpr MailOrigin operator|(MailOrigin a, MailOrigin b) {
    return static_cast<MailOrigin>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr bool any_of(MailOrigin a, MailOrigin b) { return (static_cast<unsigned>(a) & static_cast<unsigned>(b)) != 0; }

struct SigningKeyName {
    std::string selector; // "s1", ASCII
    std::string file;     // PEM
    std::string to_string() const { return selector + " " + file; }
    bool operator==(const SigningKeyName&) const = default;
};

struct SigningRule {                            // [dkim."<domain>"]
    std::string domain;                         // as the DNS has it, lower case
    std::vector<SigningKeyName> keys;           // each makes a signature, the first one's is on top
    std::set<std::string, std::less<>> domains; // whose mail it signs besides its own; ".x": all below x
    MailOrigin sign = MailOrigin::local | MailOrigin::submission | MailOrigin::authenticated | MailOrigin::networks |
                      MailOrigin::reports;
    smtp::Duration lifetime{}; // of a signature (x=); 0: it does not expire
};

// The rule for mail with that domain in its From field, else for that of its envelope sender; null if there is none, or
// if the rule does not sign mail of that origin. Domains: lower case, as the DNS has them; "": none. An exact name
// takes precedence over the longest ".x".
const SigningRule* signing_rule(const std::vector<SigningRule>& rules, std::string_view from_domain,
                                std::string_view sender_domain, MailOrigin came);

} // namespace decide

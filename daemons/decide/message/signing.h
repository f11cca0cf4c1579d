// Which of our domains signs a message (DKIM, RFC 6376), if any does: by how the message came to us and by
// whose name it bears. Pure; knows no keys but their names, and nothing of how signing is done.
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
    authenticated = 4, // from who had proved by AUTH who he is
    networks = 8,      // from relay.networks
    reports = 16,      // written by us: NDRs and the like
    other = 32,        // from anybody else, for us or for a domain we relay for
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
    std::vector<SigningKeyName> keys;           // each makes a signature, the first one's stands on top
    std::set<std::string, std::less<>> domains; // whose mail it signs beside its own; ".x": all below x
    MailOrigin sign = MailOrigin::local | MailOrigin::submission | MailOrigin::authenticated | MailOrigin::networks |
                      MailOrigin::reports;
    smtp::Duration lifetime{}; // of a signature (x=); 0: it does not expire
};

// The rule for mail with that domain in its From field, else for that of its envelope's sender; null where
// there is none, or where the rule does not sign what came so. Domains: lower case, as the DNS has them; "":
// none. An exact name counts before the longest ".x".
const SigningRule* signing_rule(const std::vector<SigningRule>& rules, std::string_view from_domain,
                                std::string_view sender_domain, MailOrigin came);

} // namespace decide

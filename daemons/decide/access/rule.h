// One access rule as it is written: "check_client_access cidr:/etc/postrider/clients", "reject_unknown_sender_domain".
// The words are those of Postfix's access restrictions. Values; knows no tables and no sessions.
#pragma once
#include "libsmtp/text/text.h"
#include <cstdint>
#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace decide::access {

// The lists of a listener, in the order they are evaluated.
enum class List : std::uint8_t { client, helo, sender, relay, recipient, data, end_of_data };
std::string_view name_of(List list);

// What a rule is about.
enum class Subject : std::uint8_t {
    list,           // that of the list: of `client` the client, of `helo` its greeting …
    client,         // its confirmed name and its address
    reverse_client, // the name its address has, confirmed or not
    helo,
    sender,
    recipient,
    login,       // the authenticated user
    certificate, // the fingerprints of the client's certificate and of its key
};

enum class Check : std::uint8_t {
    permit,
    reject,
    defer,
    defer_if_permit,
    defer_if_reject,
    permit_networks,           // clients that may relay by their address
    permit_authenticated,      // clients that have authenticated
    permit_listed_certificate, // clients that may relay by their certificate, because relay.client_certificates has it
    permit_verified_certificate, // clients whose certificate tls.client_ca_file verifies
    permit_ours,                 // recipients in our own domains
    reject_elsewhere,            // recipients in other domains
    defer_elsewhere,
    reject_plaintext,
    reject_bounces_to_many,
    done_anyway, // by every session, without a rule
    invalid_name,
    not_qualified,
    unknown,                  // not in the DNS
    listed,                   // in a DNS list: rejected
    allowed,                  // in a DNS list: permitted
    unverified,               // not known to be deliverable, at a server that receives its mail
    foreign_sender,           // tables have other users for the sender, or, for an authenticated client, none at all
    foreign_sender_of_user,   // the same, only for clients that have authenticated
    foreign_sender_of_nobody, // only for those that have not
    foreign_known_sender,     // only for senders that the tables have
    table,                    // what an access table says
    policy_service,
    rule_class,
};

// Whose names and addresses are looked up in a table: the subject's own, or of the hosts that the DNS has for it.
enum class Servers : std::uint8_t { none, addresses, mail, name };

struct Rule {
    Check check = Check::permit;
    Subject subject = Subject::list;
    Servers servers = Servers::none;
    bool warn_only = false; // "warn_if_reject" is in front of it
    std::string argument;   // a table, a DNS zone, the name of a policy service or class
    std::string answers;    // of a zone: "127.0.0.[2..4]"; "" any
    std::string text;       // the whole rule, as written

    // The error says what is wrong, or why such a rule does not exist here, and what to use instead.
    static std::expected<Rule, smtp::Malformed> parse(std::string_view text);
    // "permit_mynetworks, reject": as a table's value has it. At most `most_in_value`.
    static std::expected<std::vector<Rule>, smtp::Malformed> parse_value(std::string_view text);
    static constexpr std::size_t most_in_value = 20;
    bool operator==(const Rule&) const = default;
};

// Does an answer such as "127.0.0.3" match "127.0.0.[2..4;8]"? False if the pattern is invalid, too.
bool matches_answer(std::string_view pattern, std::string_view address);
bool is_valid_pattern(std::string_view pattern);

// Replies about addresses that were verified: [verify].
struct VerificationReplies {
    struct Of {
        std::uint32_t reject_code = 450, defer_code = 450; // undeliverable; not known now
        std::string reason;                                // instead of the server's; "": that
    };
    Of recipient, sender;
};

// All rules for the clients of a listener.
struct RuleSet {
    std::map<List, std::vector<Rule>> lists;
    std::map<std::string, std::vector<Rule>, std::less<>> classes;
    bool delay_reject = true;     // client, helo and sender are evaluated for each recipient
    bool parent_domains = true;   // "example.com" in a table also matches names below it; else ".example.com" does
    char recipient_delimiter = 0; // 0: none
    VerificationReplies verification;
    std::vector<std::string> sender_login_tables; // who owns a sender
    const std::vector<Rule>& list(List which) const;
};

} // namespace decide::access

// A question to the journal: words KEY=VALUE that one event must match, and addresses and ids without a key. Several
// words with the same key are alternatives; * and ? are wildcards, and case is ignored, as in the filters for queued
// mail. Parser and matcher; pure. Knows events as JSON, not where they come from.
#pragma once
#include "libsmtp/text/time_types.h"
#include <cstdint>
#include <expected>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace history {

// What a word is compared with.
enum class Subject : std::uint8_t {
    anything, // a word without a key: address or Message-ID
    id,
    message_id,
    address, // recipient, original recipient or sender
    recipient,
    sender,
    domain, // of a recipient
    type,
    code,
    text,   // contained in the reply
    host,   // name or address of the remote server
    client, // name or address of who connected here
    member, // the event's member of the word's own name
    meta,   // meta.NAME
    header, // header.NAME
};

struct QueryTerm {
    std::string key; // as typed: "domain", "meta.campaign"
    Subject subject = Subject::member;
    std::string member;                // in the event, for member, meta and header
    std::vector<std::string> patterns; // lower case; any of them
};

class AddressHash;

class HistoryQuery {
public:
    // `now`: what "since=2d" counts from. `hash`: with it, addresses are also found where they are hashed. The error is
    // a line for the user, with the words that there are.
    static std::expected<HistoryQuery, std::string> parse(std::span<const std::string> words, smtp::WallTime now,
                                                          const AddressHash* hash = nullptr);

    bool matches(const nlohmann::json& event) const;
    const std::vector<QueryTerm>& terms() const { return terms_; }
    // RFC 3339 without the zone, UTC: compared with an event's time as text. "": no limit.
    const std::string& since() const { return since_; }
    const std::string& until() const { return until_; }
    bool selects_all() const { return terms_.empty() && since_.empty() && until_.empty(); }

private:
    void add_hashed(const AddressHash& hash);
    QueryTerm& term(std::string_view key, Subject subject, std::string_view member);

    std::vector<QueryTerm> terms_;
    std::string since_, until_;
};

// Without <>.
std::string_view bare_message_id(std::string_view id);
// The addresses of all recipients that an event names.
std::vector<std::string> recipients_of(const nlohmann::json& event);
// A member that is a string; "" otherwise.
std::string string_of(const nlohmann::json& event, std::string_view member);
// ASCII letters only.
std::string lowered(std::string_view text);
std::string domain_of(std::string_view address); // lower case; "" without one

} // namespace history

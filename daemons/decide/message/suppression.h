// Recipients that must not get mail: an entry of the suppression list, the keys under which an address is looked up
// there, and the rejections that add entries automatically. Pure: knows no store, and of names only how they are
// folded. Addresses are compared without regard to case, local parts too: no known server distinguishes "Ann" from
// "ann", and writing to a person who must not be written to is the worse mistake. An extension ("ann+list") makes
// another address.
#pragma once
#include "libsmtp/text/time_types.h"
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace decide {

// The mail that an entry is for: all of it, or, with one of these, part of it.
struct SuppressionScope {
    std::string sender; // domain of the envelope sender
    std::string pool;   // source addresses that the message is to be sent from
    std::string lane;   // high, normal, bulk
    bool operator==(const SuppressionScope&) const = default;
};

// A message, as far as scopes depend on it.
struct SuppressionSubject {
    std::string reverse_path; // "" a report, to which no sender's entries apply
    std::string pool, lane;   // "" not known yet, or none
};

struct Suppression {
    std::string recipient; // "ann@example.org", or "@example.org" for the whole domain; folded
    SuppressionScope scope;
    std::string reason; // as given when it was added; one line
    std::string reply;  // of the remote server; "" none
    std::string who;    // a user's name; "queue-manager" if automatic
    bool automatic = false;
    smtp::WallTime added{}, expires{}; // expires {}: never
    bool operator==(const Suppression&) const = default;
};

// How names are compared (idn::ascii_domain, idn::folded).
struct NameFolding {
    std::function<std::string(std::string_view)> domain; // "" if no DNS name can represent it
    std::function<std::string(std::string_view)> local;
};

// "Ann@Example.ORG", "@example.org" or "example.org" in the form of Suppression::recipient; or what is wrong. A single
// word is invalid, "@word" is valid.
std::expected<std::string, std::string> suppression_recipient(std::string_view written, const NameFolding& folding);
// A scope as written: a sender may be "example.org", "@example.org" or "". Or what is wrong with it.
std::expected<SuppressionScope, std::string> suppression_scope(const SuppressionScope& written,
                                                               const NameFolding& folding);
// "mail from news.example", "mail of pool bulk", "mail in lane bulk"; "" all mail.
std::string scope_text(const SuppressionScope& scope);

// The key of an entry.
std::string suppression_key(std::string_view recipient, const SuppressionScope& scope);
// The parts of a key; nothing if it is not valid.
struct SuppressionKeyParts {
    std::string_view recipient;
    SuppressionScope scope;
};
std::optional<SuppressionKeyParts> parse_suppression_key(std::string_view key);
// Keys of entries that may cover the address; the first one found applies: those for the sender's domain before those
// for its pool, its lane and all mail, the address before its domain. None if the address is invalid.
std::vector<std::string> suppression_keys(std::string_view address, const SuppressionSubject& message,
                                          const NameFolding& folding);

// A number for an address that the engine can hold in few bytes: the same for the same address, never 0.
std::uint32_t address_number(std::string_view address, const NameFolding& folding);

// One line for replies, reports and the log: "on the suppression list since 2026-11-22: asked to be left alone".
std::string suppression_text(const Suppression& entry);

// A rejection that means that the address must not be written to again: "5.1.1", "5.1.*", "550", "550 5.1.1".
struct SuppressionRule {
    int code = 0;       // 0: any
    std::string status; // "" any, or "5.1.1", with * for a number

    static std::optional<SuppressionRule> parse(std::string_view text);
    std::string to_string() const;
    bool covers(int code, std::string_view status) const; // permanent rejections only
    bool operator==(const SuppressionRule&) const = default;
};

} // namespace decide

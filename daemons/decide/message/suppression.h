// Recipients that are to get no mail: what the suppression list says of one, under which names an address is
// looked up there, and which refusals put it there by themselves. Pure: knows no store, and of names only how
// they are folded. Addresses are compared without regard to case, local parts too: no known server tells
// "Ann" from "ann", and to write to somebody who must not be written to is the worse mistake. An extension
// ("ann+list") makes another address.
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

struct Suppression {
    std::string recipient; // "ann@example.org", or "@example.org" for everybody there; folded
    std::string sender;    // only for mail from this domain (of the envelope sender); "" whoever it is from
    std::string reason;    // as whoever put it there said; one line
    std::string reply;     // what the remote server said; "" none
    std::string who;       // a user's name; "queue-manager" if by itself
    bool automatic = false;
    smtp::WallTime added{}, expires{}; // expires {}: never
    bool operator==(const Suppression&) const = default;
};

// How names are compared (idn::ascii_domain, idn::folded).
struct NameFolding {
    std::function<std::string(std::string_view)> domain; // "" if no name of the DNS can stand for it
    std::function<std::string(std::string_view)> local;
};

// "Ann@Example.ORG", "@example.org" or "example.org" in the form of Suppression::recipient; or what is wrong. One word
// alone is none, "@word" is.
std::expected<std::string, std::string> suppression_recipient(std::string_view written, const NameFolding& folding);
// "example.org", "@example.org" or "" in the form of Suppression::sender; or what is wrong.
std::expected<std::string, std::string> suppression_sender(std::string_view written, const NameFolding& folding);

// Where an entry lies.
std::string suppression_key(std::string_view recipient, std::string_view sender);
// What a key says; nothing: it is none.
struct SuppressionKeyParts {
    std::string_view recipient, sender;
};
std::optional<SuppressionKeyParts> parse_suppression_key(std::string_view key);
// Where entries that cover the address may lie, the first found holds: those for the sender's domain before
// those for all, the address before its domain. None if it is no address. `reverse_path`: "" a report, for which
// no sender's entries hold.
std::vector<std::string> suppression_keys(std::string_view address, std::string_view reverse_path,
                                          const NameFolding& folding);

// A number for an address that the engine can hold in few bytes: the same for the same address, never 0.
std::uint32_t address_number(std::string_view address, const NameFolding& folding);

// One line for replies, reports and the log: "on the suppression list since 2026-11-22: asked to be left alone".
std::string suppression_text(const Suppression& entry);

// A refusal that says that the address is not to be written to again: "5.1.1", "5.1.*", "550", "550 5.1.1".
struct SuppressionRule {
    int code = 0;       // 0: any
    std::string status; // "" any, or "5.1.1", with * for a number

    static std::optional<SuppressionRule> parse(std::string_view text);
    std::string to_string() const;
    bool covers(int code, std::string_view status) const; // permanent refusals only
    bool operator==(const SuppressionRule&) const = default;
};

} // namespace decide

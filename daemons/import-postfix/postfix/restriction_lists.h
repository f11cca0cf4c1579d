// A list of restrictions as Postfix reads it, and what it permits to which clients. Knows Postfix's words and nothing
// about Postrider. Pure.
#pragma once
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace postrider::postfix {

struct Restriction {
    std::string word, more; // "reject_rbl_client", "bl.example"; more "": the word has no argument
};
// The error describes the problem with braces.
std::expected<std::vector<Restriction>, std::string> restrictions_of(std::string_view text);

// Mail to elsewhere from clients that the word `mine` permits ("permit_mynetworks"): does the list let it pass? Words
// before it may still reject a few of them.
bool permits_relay(const std::vector<Restriction>& list, std::string_view mine);
// The same, because the list has that very word: "permit" does not count.
bool permits_by_name(const std::vector<Restriction>& list, std::string_view mine);

// Does it reject all mail from clients that are not in mynetworks, not authenticated and not known by a certificate?
bool rejects_untrusted(const std::vector<Restriction>& list);

} // namespace postrider::postfix

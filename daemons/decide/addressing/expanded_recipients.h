// What one envelope recipient becomes: the recipients found so far, invalid list members, and why it has to wait. All
// or nothing: a recipient that waits yields no other recipients. Knows no aliases and no classes; looks up suppressed
// addresses only.
#pragma once
#include "daemons/decide/addressing/expansion.h"
#include "daemons/decide/rewriting/lookups.h"
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace decide {

// How an address was reached.
struct Provenance {
    std::string owner;       // of the innermost list with an owner; "" none
    std::uint32_t depth = 0; // lists and rewritings before it
    std::string from = {};   // address of the innermost list, or user with a .forward; "" none
    Provenance deeper() const { return {owner, depth + 1, from}; }
    Provenance inside(const std::string& list) const { return {owner, depth + 1, list}; }
};

class ExpandedRecipients {
public:
    // All must outlive it.
    ExpandedRecipients(const UnresolvedRecipient& envelope, const ExpansionSettings& settings, Lookups& lookups)
        : envelope_(envelope), settings_(settings), lookups_(lookups) {}

    // A recipient to be completed and added.
    ResolvedRecipient base(spool::Fate fate, const std::string& address, const Provenance& via) const;
    void add(ResolvedRecipient one);
    void fail(const std::string& address, const Provenance& via, std::string status, std::string text);
    void reject_address(const std::string& address, const Provenance& via, std::string_view why);
    // An invalid list member: the other members get their mail, the mail for this one waits.
    void add_bad_member(const Provenance& via, std::string text, std::string status = "4.3.5");
    // An alias leads back to itself. If nothing else is found, that is why.
    void cut_loop() { cut_ = true; }
    bool has_loop() const { return cut_; }

    // All of it waits; the first reason counts.
    void defer(std::string status, std::string text);
    bool is_deferred() const { return is_deferred_; }
    // True: nothing more can be done here, because the answer is pending or unavailable; the latter defers all of it.
    bool waits_for(const TableAnswer& answer);

    // At the end: all final recipients, or the one reason for waiting. Meaningless while an answer is missing.
    std::vector<ResolvedRecipient> take();

private:
    bool is_envelope_address(const ResolvedRecipient& one) const;

    const UnresolvedRecipient& envelope_;
    const ExpansionSettings& settings_;
    Lookups& lookups_;
    std::vector<ResolvedRecipient> found_;
    ResolvedRecipient deferred_, bad_member_; // the first invalid member
    std::size_t bad_members_ = 0;
    bool is_deferred_ = false, cut_ = false;
};

} // namespace decide

// One envelope recipient on its way to those who get the message: the steps between an address and its end. A long way
// is gone in stages: what lists name is taken one by one, and the lists being gone through are kept in between.
// The inside of expansion.cpp, which puts several of them together.
#pragma once
#include "daemons/decide/addressing/expansion.h"
#include "daemons/decide/addressing/lookups.h"
#include "daemons/decide/routing/transport_entry.h"
#include <deque>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

namespace decide {

class Expander {
public:
    // `sender`: the message's, as rewritten; "" the null one.
    Expander(const UnresolvedRecipient& envelope, std::string_view sender, const ExpansionSettings& settings,
         Lookups& lookups)
        : envelope_(envelope), sender_(sender), settings_(settings), lookups_(lookups) {}

    // Goes on for at most so many places that lists name, and takes them off; true: to the end.
    bool run(std::size_t& steps);
    // Then: all who get it, or the one word on why it waits. Means nothing while something is needed.
    std::vector<ResolvedRecipient> take_result();

private:
    // How an address was come by.
    struct Provenance {
        std::string owner;       // of the innermost list with an owner; "" none
        std::uint32_t depth = 0; // lists and rewritings before it
        std::string from = {};   // address of the innermost list, or user with a .forward; "" none
        Provenance deeper() const { return {owner, depth + 1, from}; }
        Provenance inside(const std::string& list) const { return {owner, depth + 1, list}; }
    };
    // Whose list is being read.
    struct ListContext {
        enum class From { aliases, forward, includes } from = From::aliases;
        std::string name;    // for texts: "alias team"
        std::string run_as;  // of commands and files
        std::string reader;  // who reads what it includes: a user; "" this system
        std::string address; // of commands and files
    };
    // A list that is being gone through. What was entered for it is left when it is through.
    struct ListFrame {
        std::vector<AliasTarget> targets;
        std::optional<ListContext> reading; // none: addresses that a virtual alias leads to
        Provenance via;
        std::size_t next = 0;
    };

    void step();
    // recipient_expander.cpp: rewriting, classes, transports
    void expand_address(const std::string& text, const Provenance& via);
    void expand_virtual_alias(const std::string& address, const Provenance& via);
    void by_class(const std::string& address, const Provenance& via);
    bool relocated(const std::string& address, AddressClass address_class, const Provenance& via);
    bool by_transport(const std::string& address, const Provenance& via);
    void deliver_to_virtual_mailbox(const std::string& address, const Provenance& via);
    std::optional<std::string> mailbox_of(const std::string& address, const Provenance& via);
    void deliver_to_mailbox(const std::string& address, const std::string& value, const Provenance& via);
    void deliver_remotely(const std::string& address, const Provenance& via);
    // expansion_lists.cpp: aliases, users, .forward
    void expand_list_member(const std::string& text, const Provenance& via);
    void expand_local_name(const std::string& name, const std::string& address, const Provenance& via);
    bool expand_alias(const std::string& name, const std::string& address, const Provenance& via);
    void deliver_to_user(const std::string& name, const std::string& address, const Provenance& via, bool mailbox_only);
    void defer_for_alias(const std::string& user, const std::string& address, const Provenance& via);
    bool expand_forward(const std::string& user, const std::string& extension, const std::string& address,
                         const Provenance& via);
    void open_list(std::vector<AliasTarget>&& targets, std::optional<ListContext> reading, const Provenance& via);
    void take(const AliasTarget& target, const ListContext& reading, const Provenance& via);
    void deliver_to_local_mailbox(const std::string& text, const Provenance& via);
    void expand_include(const AliasTarget& target, const ListContext& reading, const Provenance& via);
    void deliver_to_command_or_file(const AliasTarget& target, const ListContext& reading, const Provenance& via);
    bool loops(const std::string& address, const Provenance& via);
    std::string owner_of(const std::string& alias, const std::string& inherited);

    // A finding on the way: asked for and not there yet, or not to be had; nothing more to do here then.
    bool wait_for(const TableAnswer& answer);
    // Enters what is looked through once only: whether it is new, we come from inside it, or it is done.
    enum class Entry { fresh, inside, done };
    Entry enter(const std::string& key);
    void leave() { open_.pop_back(); }
    bool is_open(const std::string& key) const;

    ResolvedRecipient base(spool::Fate fate, const std::string& address, const Provenance& via) const;
    void add(ResolvedRecipient one);
    void reject_address(const std::string& address, const Provenance& via, std::string_view why);
    // One member of a list that cannot be meant: the others get their mail, what it was meant for waits.
    void add_bad_member(const Provenance& via, std::string text, std::string status = "4.3.5");
    void fail(const std::string& address, const Provenance& via, std::string status, std::string text);
    void defer(std::string status, std::string text);
    bool is_envelope_address(const ResolvedRecipient& one) const;

    static constexpr std::uint32_t most_includes = 100;
    std::uint32_t includes_ = 0;           // met on the way
    std::size_t members_ = 0, lists_ = 0;  // places that lists named, and those of them that were lists themselves
    bool begun_ = false;
    std::deque<ListFrame> open_lists_; // innermost last
    const UnresolvedRecipient& envelope_;
    std::string_view sender_;
    const ExpansionSettings& settings_;
    Lookups& lookups_;
    std::vector<ResolvedRecipient> found_;
    std::vector<std::string> open_;        // what is being looked through, outermost first
    std::unordered_set<std::string> done_; // … and has been: lists that share members of members
    ResolvedRecipient deferred_, bad_member_; // the first wrong member
    std::size_t bad_members_ = 0;
    bool is_deferred_ = false, cut_ = false;
};

// What can be a user's name at all; nothing else is looked up.
bool can_be_user(std::string_view name);
bool is_postmaster(std::string_view name);
// "ann" of "ann+lists".
std::string without_extension(const std::string& name, char delimiter);

} // namespace decide

// One envelope recipient on its way to those who get the message: the steps between an address and its end. A long way
// is gone in stages: what lists name is taken one by one, and the lists being gone through are kept in between.
// The inside of expansion.cpp, which puts several roads together.
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

class Road {
public:
    // `sender`: the message's, as rewritten; "" the null one.
    Road(const UnresolvedRecipient& envelope, std::string_view sender, const ExpansionSettings& settings,
         Lookups& lookups)
        : envelope_(envelope), sender_(sender), settings_(settings), lookups_(lookups) {}

    // Goes on for at most so many places that lists name, and takes them off; true: to the end.
    bool go_on(std::size_t& steps);
    // Then: all who get it, or the one word on why it waits. Means nothing while something is needed.
    std::vector<ResolvedRecipient> end();

private:
    // How an address was come by.
    struct Via {
        std::string owner;       // of the innermost list with an owner; "" none
        std::uint32_t depth = 0; // lists and rewritings before it
        std::string from = {};   // address of the innermost list, or user with a .forward; "" none
        Via deeper() const { return {owner, depth + 1, from}; }
        Via inside(const std::string& list) const { return {owner, depth + 1, list}; }
    };
    // Whose list is being read.
    struct Reading {
        enum class From { aliases, forward, includes } from = From::aliases;
        std::string name;    // for texts: "alias team"
        std::string run_as;  // of commands and files
        std::string reader;  // who reads what it includes: a user; "" this system
        std::string address; // of commands and files
    };
    // A list that is being gone through. What was entered for it is left when it is through.
    struct Level {
        std::vector<AliasTarget> targets;
        std::optional<Reading> reading; // none: addresses that a virtual alias leads to
        Via via;
        std::size_t next = 0;
    };

    void step();
    // expansion_road.cpp: rewriting, classes, transports
    void rewritten(const std::string& text, const Via& via);
    void through_virtual(const std::string& address, const Via& via);
    void by_class(const std::string& address, const Via& via);
    bool relocated(const std::string& address, AddressClass address_class, const Via& via);
    bool by_transport(const std::string& address, const Via& via);
    void mailbox_elsewhere(const std::string& address, const Via& via);
    std::optional<std::string> mailbox_of(const std::string& address, const Via& via);
    void into_mailbox(const std::string& address, const std::string& value, const Via& via);
    void away(const std::string& address, const Via& via);
    // expansion_lists.cpp: aliases, users, .forward
    void named_in_list(const std::string& text, const Via& via);
    void name_here(const std::string& name, const std::string& address, const Via& via);
    bool through_alias(const std::string& name, const std::string& address, const Via& via);
    void user_here(const std::string& name, const std::string& address, const Via& via, bool mailbox_only);
    void waits_for_alias(const std::string& user, const std::string& address, const Via& via);
    bool through_forward(const std::string& user, const std::string& extension, const std::string& address,
                         const Via& via);
    void go_through(std::vector<AliasTarget>&& targets, std::optional<Reading> reading, const Via& via);
    void take(const AliasTarget& target, const Reading& reading, const Via& via);
    void mailbox_here(const std::string& text, const Via& via);
    void through_include(const AliasTarget& target, const Reading& reading, const Via& via);
    void place(const AliasTarget& target, const Reading& reading, const Via& via);
    bool loops(const std::string& address, const Via& via);
    std::string owner_of(const std::string& alias, const std::string& inherited);

    // A finding on the way: asked for and not there yet, or not to be had; nothing more to do here then.
    bool wait_for(const TableAnswer& answer);
    // Enters what is looked through once only: whether it is new, we come from inside it, or it is done.
    enum class Entry { fresh, inside, done };
    Entry enter(const std::string& key);
    void leave() { open_.pop_back(); }
    bool is_open(const std::string& key) const;

    ResolvedRecipient base(spool::Fate fate, const std::string& address, const Via& via) const;
    void add(ResolvedRecipient one);
    void no_address(const std::string& address, const Via& via, std::string_view why);
    // One member of a list that cannot be meant: the others get their mail, what it was meant for waits.
    void wrong_member(const Via& via, std::string text, std::string status = "4.3.5");
    void fail(const std::string& address, const Via& via, std::string status, std::string text);
    void defer(std::string status, std::string text);
    bool is_envelopes(const ResolvedRecipient& one) const;

    static constexpr std::uint32_t most_includes = 100;
    std::uint32_t includes_ = 0;           // met on the way
    std::size_t members_ = 0, lists_ = 0;  // places that lists named, and those of them that were lists themselves
    bool begun_ = false;
    std::deque<Level> levels_; // innermost last
    const UnresolvedRecipient& envelope_;
    std::string_view sender_;
    const ExpansionSettings& settings_;
    Lookups& lookups_;
    std::vector<ResolvedRecipient> found_;
    std::vector<std::string> open_;        // what is being looked through, outermost first
    std::unordered_set<std::string> done_; // … and has been: lists that share members of members
    ResolvedRecipient deferred_, wrong_; // the first wrong member
    std::size_t wrong_members_ = 0;
    bool is_deferred_ = false, cut_ = false;
};

// What can be a user's name at all; nothing else is looked up.
bool can_be_user(std::string_view name);
bool is_postmaster(std::string_view name);
// "ann" of "ann+lists".
std::string without_extension(const std::string& name, char delimiter);

} // namespace decide

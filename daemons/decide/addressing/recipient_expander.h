// Expands one envelope recipient: the steps from an address to the final recipients. Long expansions run in stages:
// places that lists name are taken one by one, and the open lists are kept in between. Internal to expansion.cpp, which
// combines several of these.
#pragma once
#include "daemons/decide/addressing/expanded_recipients.h"
#include "daemons/decide/addressing/expansion.h"
#include "daemons/decide/addressing/list_stack.h"
#include "daemons/decide/rewriting/lookups.h"
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace decide {

class Expander {
public:
    // `sender`: the message's, as rewritten; "" the null one. All must outlive it.
    Expander(const UnresolvedRecipient& envelope, std::string_view sender, const ExpansionSettings& settings,
             Lookups& lookups)
        : envelope_(envelope), sender_(sender), settings_(settings), lookups_(lookups),
          result_(envelope, settings, lookups) {}

    // Processes at most `steps` places that lists name, and subtracts them from `steps`; true: it is complete.
    bool run(std::size_t& steps);
    // Only then: all final recipients, or the one reason for waiting. Meaningless while an answer is missing.
    std::vector<ResolvedRecipient> take_result() { return result_.take(); }

private:
    void step();
    bool too_deep(const Provenance& via); // true: it waits for that reason
    // Rewriting, classes, transports.
    void expand_address(const std::string& text, const Provenance& via);
    void expand_virtual_alias(const std::string& address, const Provenance& via);
    std::optional<AddressClass> class_of(std::string_view address);
    void by_class(const std::string& address, const Provenance& via);
    bool relocated(const std::string& address, AddressClass address_class, const Provenance& via);
    bool by_transport(const std::string& address, const Provenance& via);
    void deliver_to_virtual_mailbox(const std::string& address, const Provenance& via);
    std::optional<std::string> mailbox_of(const std::string& address, const Provenance& via);
    void deliver_to_mailbox(const std::string& address, const std::string& value, const Provenance& via);
    void deliver_to_program(std::string_view name, const std::string& address, const Provenance& via);
    void deliver_remotely(const std::string& address, AddressClass address_class, const Provenance& via);
    // Names of this system: aliases, users, .forward.
    void expand_list_member(const std::string& text, const Provenance& via);
    void expand_local_name(const std::string& name, const std::string& address, const Provenance& via);
    bool expand_alias(const std::string& name, const std::string& address, const Provenance& via);
    void deliver_to_user(const std::string& name, const std::string& address, const Provenance& via, bool mailbox_only);
    void defer_for_alias(const std::string& user, const std::string& address, const Provenance& via);
    bool expand_forward(const std::string& user, const std::string& extension, const std::string& address,
                        const Provenance& via);
    void take(const AliasTarget& target, const ListContext& reading, const Provenance& via);
    void deliver_to_local_mailbox(const std::string& text, const Provenance& via);
    void expand_include(const AliasTarget& target, const ListContext& reading, const Provenance& via);
    void deliver_to_command_or_file(const AliasTarget& target, const ListContext& reading, const Provenance& via);
    bool loops(const std::string& address, const Provenance& via);
    std::string owner_of(const std::string& alias, const std::string& inherited);

    static constexpr std::uint32_t most_includes = 100;
    const UnresolvedRecipient& envelope_;
    std::string_view sender_;
    const ExpansionSettings& settings_;
    Lookups& lookups_;
    bool begun_ = false;
    std::uint32_t includes_ = 0; // found so far
    std::size_t members_ = 0,
                nested_lists_ = 0; // places that lists named, and those of them that were lists themselves
    ListStack lists_;
    ExpandedRecipients result_;
};

} // namespace decide

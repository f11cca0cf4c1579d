// Finds the final recipients of a message: what their addresses are rewritten to, which class they belong to, what
// aliases and .forward files contain, down to the last; and where each one goes. See postrider-addresses(7). Pure:
// tables are looked up through functions; if one has no answer yet, the expansion reports what it needs and is run
// again. Loops are cut, depth and size are bounded, no recipient gets a message twice. A large list is processed in
// stages, so that a caller with several expansions can treat them fairly.
#pragma once
#include "daemons/decide/addressing/domain_classes.h"
#include "daemons/decide/rewriting/expansion_tables.h"
#include "daemons/decide/rewriting/lookups.h"
#include "daemons/decide/rewriting/masquerade.h"
#include "daemons/decide/routing/transport_entry.h"
#include "libsmtp/text/text.h"
#include "libspool/delivery/resolved_recipient.h"
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace decide {

// Lists of tables, as the configuration writes them: the first one that has a key answers.
struct AddressTables {
    std::vector<std::string> sender_canonical, recipient_canonical, virtual_alias, mailboxes, relay_recipients,
        local_recipients, relocated, transport, sender_relay;
    std::vector<std::string> common_sender_canonical = {}, common_recipient_canonical = {}; // for what these lead to
};

// What makes a local recipient known, besides tables.local_recipients.
struct KnownHere {
    bool users = true, aliases = true;
    bool everybody = false; // all names
};

// Which lists may name "|command" or "/file".
struct Permitted {
    bool aliases = true, forward = true, includes = false;
};

// What takes mail for users of this system: files that are written here, or a command that is run for each of them
// (local.mailbox_command).
enum class Mailboxes : std::uint8_t { files, commands };

// The form in which names are compared here.
using NameForm = std::function<std::string(std::string_view name)>;

struct ExpansionSettings {
    // ASCII's letters small. Tables may decide: they are looked up, and what is pending is requested.
    std::function<ClassAnswer(std::string_view domain, Lookups& lookups)> class_of;
    NameForm folded = smtp::lowered;
    // Does the domain (in lower case) have a route of its own? Then the sender's relay is not used.
    std::function<bool(std::string_view domain)> has_route = {};
    std::string origin;     // completes bare names
    std::string postmaster; // where its mail goes without an alias
    std::string catch_all;  // where mail for unknown local users goes; "" means it fails
    char delimiter = '+';   // 0: none
    std::uint32_t depth = 50;
    std::uint32_t recipients = 100'000; // that one address may expand to
    std::size_t bytes = 48 << 20;       // of text in one answer, about; the rest waits for the next answer
    std::size_t questions = 50'000;     // needed at a time, about; the rest is found out in the next run
    AddressTables tables;
    KnownHere known_here;
    bool canonical_repeated = false; // results of canonical tables are looked up again
    MasqueradeRules masquerade;      // behind canonical tables
    MasqueradeClasses masquerade_classes;
    std::string local_transport; // a next hop for users' mailboxes; "" means as `local` is configured
    std::string mailbox; // of virtual_mailbox: "maildir:…", "mbox:…" with {user}, {domain}, {value}; "command:…"; or
                         // a next hop
    std::string mailbox_user;               // owner of these files
    Mailboxes mailboxes = Mailboxes::files; // of users, if local_transport is ""
    std::string default_user;               // runs commands and writes files of aliases without a user of their own
    Permitted commands, files;
    TransportNames transports;
    std::vector<std::string> program_users; // as whom each of transports.commands runs, in the same order
};

using spool::ResolvedRecipient;
using spool::UnresolvedRecipient;

// One recipient, reduced to what decides whether another recipient's copy serves it too. `address` is the final one, or
// the envelope's if unchanged. `origin` is the envelope address that it comes from.
struct RecipientIdentity {
    std::string_view address, user, target, transport, origin;
};
// Equal for two recipients if one copy serves both: the same final address, or the same file for the same user. If the
// delivery depends on the address, each address gets its own copy: on a server that keeps mailboxes by the whole
// address; in a mailbox here, by the local part (a user is the same in all local domains); for a command, also by the
// envelope address, which is passed to it.
std::string duplicate_key(const RecipientIdentity& copy, Mailboxes mailboxes, const NameForm& folded);

struct ExpansionResult {
    std::vector<ResolvedRecipient> recipients; // every envelope recipient is named at least once, in its order
    std::set<LookupRequest> unanswered;        // not empty: nothing above is set; find out about these and ask again
};

class Expansion {
public:
    // `reverse_path`: "" for reports; it is not replaced by list owners then. `settings`, and everything `tables`
    // refers to, must outlive it.
    Expansion(std::vector<UnresolvedRecipient> envelope, std::string_view reverse_path,
              const ExpansionSettings& settings, ExpansionTables tables);
    ~Expansion();
    Expansion(const Expansion&) = delete;
    Expansion& operator=(const Expansion&) = delete;

    // Runs for at most this number of steps: recipients, and places that lists name. True: it is complete.
    bool run(std::size_t steps);
    // Only when it is complete.
    ExpansionResult take_result();

private:
    struct State;
    std::unique_ptr<State> state_;
};

// All in one call.
ExpansionResult expand(const std::vector<UnresolvedRecipient>& envelope, std::string_view reverse_path,
                       const ExpansionSettings& settings, const ExpansionTables& tables);

} // namespace decide

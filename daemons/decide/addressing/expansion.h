// Who the recipients of a message really are: what their addresses are rewritten to, which class they belong
// to, what aliases and .forward files say, down to the last; and where each goes. See postrider-addresses(7).
// Pure: tables are asked through functions; where one does not know yet, the expansion names what it needs and
// is run again. Loops are cut, depth and size are bounded, nobody gets a message twice. A large list is gone through in
// stages, so that whoever has several at a time can be fair to all.
#pragma once
#include "daemons/decide/addressing/address_class.h"
#include "daemons/decide/addressing/expansion_tables.h"
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

// Lists of tables, as the configuration writes them: the first that has a key answers.
struct AddressTables {
    std::vector<std::string> sender_canonical, recipient_canonical, virtual_alias, mailboxes, relay_recipients,
        relocated, transport, sender_relay;
};

// From which lists "|command" or "/file" is taken.
struct Permitted {
    bool aliases = true, forward = true, includes = false;
};

// What takes mail for users of this system: files that are written here, or a command that is run for each of them
// (local.mailbox_command).
enum class Mailboxes : std::uint8_t { files, commands };

// The form in which names here are compared.
using NameForm = std::function<std::string(std::string_view name)>;

struct ExpansionSettings {
    std::function<AddressClass(std::string_view domain)> class_of; // ASCII's letters small
    NameForm folded = smtp::lowered;
    // Does a route of its own serve the domain (small letters)? Then no sender's relay does.
    std::function<bool(std::string_view domain)> has_route = {};
    std::string origin;     // completes bare names
    std::string postmaster; // where it goes without an alias
    std::string catch_all;  // where mail for unknown local users goes; "" it fails
    char delimiter = '+';   // 0: none
    std::uint32_t depth = 50;
    std::uint32_t recipients = 100'000; // one address may become so many
    std::size_t bytes = 48 << 20;       // of text in one answer, about; what is beyond waits for the next one
    std::size_t questions = 50'000;     // needed at a time, about; what is beyond is found out in the next run
    AddressTables tables;
    std::string local_transport; // a next hop for users' mailboxes; "" as `local` is configured
    std::string mailbox;      // of virtual_mailbox: "maildir:…", "mbox:…" with {user}, {domain}, {value}; or a next hop
    std::string mailbox_user; // whose these files are
    Mailboxes mailboxes = Mailboxes::files; // of users, where local_transport is ""
    std::string default_user;               // commands and files of aliases that nobody in particular answers for
    Permitted commands, files;
};

using spool::ResolvedRecipient;
using spool::UnresolvedRecipient;

// One recipient, as far as it decides whether another one's copy serves it too. `address` as it is final; of the
// envelope if unchanged. `origin`: the envelope's address that it comes from.
struct RecipientIdentity {
    std::string_view address, user, target, transport, origin;
};
// Equal for two recipients if one copy serves both: the same final address, or the same file for the same user. Who
// acts by the address gets a copy for each: a server that keeps mailboxes by the whole of it, a mailbox here by the
// local part (its user is one in all local domains), a command by the address of the envelope, too, of which it is
// told.
std::string duplicate_key(const RecipientIdentity& copy, Mailboxes mailboxes, const NameForm& folded);

struct ExpansionResult {
    std::vector<ResolvedRecipient> recipients; // every envelope recipient is named at least once, in its order
    std::set<LookupRequest> unanswered;        // not empty: nothing above; find out about these and ask again
};

class Expansion {
public:
    // `reverse_path`: "" for reports; owners of lists are not put in then. `settings`, and what `tables` refer to, must
    // outlive it.
    Expansion(std::vector<UnresolvedRecipient> envelope, std::string_view reverse_path,
              const ExpansionSettings& settings, ExpansionTables tables);
    ~Expansion();
    Expansion(const Expansion&) = delete;
    Expansion& operator=(const Expansion&) = delete;

    // Goes on for so many steps: recipients, and places that lists name. True: it has come to its end.
    bool run(std::size_t steps);
    // Then.
    ExpansionResult take_result();

private:
    struct State;
    std::unique_ptr<State> state_;
};

// All of it at once.
ExpansionResult expand(const std::vector<UnresolvedRecipient>& envelope, std::string_view reverse_path,
                       const ExpansionSettings& settings, const ExpansionTables& tables);

} // namespace decide

// The conversation with the categorizer, as values: what to ask about a message, and what its answer comes
// to: records for the file, and the final recipients for the engine. Pure.
#pragma once
#include "daemons/common/proto/categorize.h"
#include "daemons/decide/addressing/expansion.h"
#include "daemons/decide/queue/events.h"
#include "libspool/message/message_state.h"
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace queue_manager {

// One recipient's end, owning what it names.
struct CategorizedRecipient {
    decide::queue::RecipientNumber number = 0;
    spool::Fate fate = spool::Fate::remote;
    std::string destination;  // remote: the domain, lower case; local: "local/ann"
    std::string reverse_path; // of its own; "" = the message's
    std::string delivered_to; // as in spool::ResolvedRecipient
    decide::queue::Reason reason;
    std::uint32_t address_number = 0; // decide::address_number
    bool by_file = false;             // found out at another time: who is suppressed may have changed
    bool unlogged = false;            // no line of the log has said so yet
};

using decide::Mailboxes;

// One that is thrown away, as the log tells of it.
struct DiscardedRecipient {
    decide::queue::RecipientNumber number = 0;
    std::string to, original_to;
    decide::queue::Reason reason;
};

// What must be known of a message to ask about it.
struct CategorizationInput {
    std::string reverse_path;
    std::vector<spool::UnresolvedRecipient> open; // to be asked, by number
    struct Origin {
        std::uint32_t envelope = 0; // number of the envelope's recipient it comes from
        std::string reverse_path;   // that it has from there, with a list's; "" = the message's
        bool list = false;
        std::string written;               // that recipient's address, where it is another; "" = the one asked about
        std::vector<std::uint32_t> redone; // expanded before: what is left of that, and gives way to what comes now
    };
    std::vector<Origin> origins; // of `open`, in its order
    // The envelope's address that open[i] comes from.
    const std::string& written(std::size_t i) const {
        return origins[i].written.empty() ? open[i].address : origins[i].written;
    }
    std::vector<std::uint32_t> redone;            // of all origins, by number
    std::vector<CategorizedRecipient> settled;    // answered by the file itself: categorized before, or failed
    std::vector<DiscardedRecipient> discarded;    // of `settled`
    std::uint32_t total = 0;                      // recipient numbers in use
    std::vector<std::uint32_t> success_requested; // of `open`: their senders asked to be told
    spool::Trace trace = spool::Trace::none;
    std::string rerouted_to; // the operator's next hop for the remote ones; "" none
    Mailboxes mailboxes = Mailboxes::files;
    std::set<std::string> copies; // who has the message, or is to get it (decide::duplicate_key)
    std::set<std::string> ended;  // whom expansions brought that failed or were thrown away
    std::uint64_t size = 0;       // bytes of content, and recipients of the envelope: for the log
    std::size_t addressed = 0;
    smtp::WallTime arrival{};

    // `anew`: what the file says of the recipients' fates is not trusted (queue.recategorize_on_start). For what an
    // expansion brought its origin in the envelope is asked about: those who have the message do not get it again.
    // `numbers`: only these recipients are meant; empty: all. The others count among who has the message.
    static CategorizationInput of(const spool::MessageState& state, std::uint64_t size, bool anew = false,
                                  std::span<const std::uint32_t> numbers = {}, Mailboxes mailboxes = Mailboxes::files);
};

struct Judgement {
    std::vector<spool::Property> records; // to be written before the engine is told
    bool expanded = false; // … and synced: new recipients and places, not to be found out anew after a crash
    std::vector<std::uint32_t> unchanged; // served as they stand, elsewhere: to be written before it could matter
    std::vector<CategorizedRecipient> recipients;
    std::vector<DiscardedRecipient> discarded; // of `recipients`
    std::vector<spool::ReportRecipient> told;  // what senders are to hear of expansions
};

// An answer that names what was not asked is not believed: nullopt.
std::optional<Judgement> judge(const CategorizationInput& subject, const proto::categorize::Categorized& answer,
                               smtp::WallTime now = {});

// The engine's form. Views into both; groups those whose reverse-path and field
// Delivered-To are the same. `rerouted_to`: where all remote
// ones go, "" each to its own domain.
std::vector<decide::queue::FinalRecipient> final_recipients(const std::vector<CategorizedRecipient>& recipients,
                                                            std::string_view rerouted_to = {});

// Where a local one is put, in words: "the mailbox of ann", "the command "procmail", as ann".
std::string local_target_text(const spool::ResolvedRecipient& outcome);

// Under which name the engine and the router know where a remote one goes.
std::string destination_of(std::string_view address, std::string_view transport);

// "example.org" of "Ann@Example.ORG"; "" where there is none.
std::string domain_of(std::string_view address);

} // namespace queue_manager

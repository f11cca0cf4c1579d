// The conversation with the categorizer, as values: what to ask about a message, and what follows from its answer:
// records for the file, and the final recipients for the engine. Pure.
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

// The outcome for one recipient; owns its strings.
struct CategorizedRecipient {
    decide::queue::RecipientNumber number = 0;
    spool::Fate fate = spool::Fate::remote;
    std::string destination;  // remote: the domain, lower case; local: "local/ann"
    std::string reverse_path; // of its own; "" = the message's
    std::string delivered_to; // as in spool::ResolvedRecipient
    decide::queue::Reason reason;
    std::uint32_t address_number = 0; // decide::address_number
    bool by_file = false;             // found out at another time: the suppression list may have changed
    bool unlogged = false;            // not logged yet
};

using decide::Mailboxes;

// A discarded recipient, as logged.
struct DiscardedRecipient {
    decide::queue::RecipientNumber number = 0;
    std::string to, original_to;
    decide::queue::Reason reason;
};

// What to ask about a message, and what its answer is combined with.
struct CategorizationInput {
    std::string reverse_path, pool, lane;
    std::vector<std::uint32_t> asked;             // the engine's numbers, ascending; empty: all
    std::vector<spool::UnresolvedRecipient> open; // to be asked, by number
    struct Origin {
        std::uint32_t envelope = 0; // number of the envelope's recipient it comes from
        std::string reverse_path;   // from that recipient, or from a list; "" = the message's
        bool list = false;
        std::string written;               // that recipient's address, if it differs; "" = the one asked about
        std::vector<std::uint32_t> redone; // expanded before: what is left of that, to be replaced by the new result
    };
    std::vector<Origin> origins; // of `open`, in its order
    // The envelope's address that open[i] comes from.
    const std::string& written(std::size_t i) const {
        return origins[i].written.empty() ? open[i].address : origins[i].written;
    }
    std::vector<std::uint32_t> redone;            // of all origins, by number
    std::vector<CategorizedRecipient> settled;    // settled by the file: categorized before, or failed
    std::vector<DiscardedRecipient> discarded;    // of `settled`
    std::uint32_t total = 0;                      // recipient numbers in use
    std::vector<std::uint32_t> success_requested; // of `open`: their senders requested success reports
    spool::Trace trace = spool::Trace::none;
    std::string rerouted_to; // the operator's next hop for the remote ones; "" none
    Mailboxes mailboxes = Mailboxes::files;
    std::set<std::string> copies; // of recipients that have the message, or are to get it (decide::duplicate_key)
    std::set<std::string> ended;  // of expanded recipients that failed or were discarded
    std::uint64_t size = 0;       // bytes of content, and recipients of the envelope: for the log
    std::size_t addressed = 0;
    smtp::WallTime arrival{};

    // `anew`: the recipients' fates in the file are not trusted (queue.recategorize_on_start). For expanded recipients,
    // their origin in the envelope is asked about: those that have the message do not get it again. `numbers`: only
    // these recipients, or those that they have become; empty: all. The others count as having the message.
    // `content_filter`: the next hop that all of them go through first; the categorizer is not asked about them then,
    // and an operator's next hop counts when they are back. Not of a message whose recipients were decided about
    // before.
    static CategorizationInput of(const spool::MessageState& state, std::uint64_t size, bool anew = false,
                                  std::span<const std::uint32_t> numbers = {}, Mailboxes mailboxes = Mailboxes::files,
                                  const std::string& content_filter = {});
};

struct Judgement {
    std::vector<spool::Property> records; // to be written before the engine is notified
    bool expanded = false; // … and synced: new recipients and places, not to be found out again after a crash
    std::vector<std::uint32_t> unchanged; // delivered as they are, elsewhere: to be written before it could matter
    std::vector<CategorizedRecipient> recipients;
    std::vector<DiscardedRecipient> discarded; // of `recipients`
    std::vector<spool::ReportRecipient> told;  // reports to senders about expansions
};

// An answer about recipients that were not asked about is rejected: nullopt.
std::optional<Judgement> judge(const CategorizationInput& subject, const proto::categorize::Categorized& answer,
                               smtp::WallTime now = {});

// The engine's form. Views into both; groups recipients with the same reverse-path and Delivered-To field.
// `rerouted_to`: where all remote ones go; "": each to its own domain.
std::vector<decide::queue::FinalRecipient> final_recipients(const std::vector<CategorizedRecipient>& recipients,
                                                            std::string_view rerouted_to = {});

// Where a local recipient is delivered, in words: "the mailbox of ann", "the command "procmail", as ann".
std::string local_target_text(const spool::ResolvedRecipient& outcome);

// The name of a remote recipient's destination in the engine and the router.
std::string destination_of(std::string_view address, std::string_view transport);

// "example.org" of "Ann@Example.ORG"; "" where there is none.
std::string domain_of(std::string_view address);

} // namespace queue_manager

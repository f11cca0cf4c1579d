// The current state of a message: its envelope with the property log folded in. A value; the fold is
// pure and total: an invalid record (a recipient that does not exist) is Malformed, never undefined.
#pragma once
#include "libspool/format/envelope.h"
#include "libspool/format/property.h"
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace spool {

// One or several identical tries in a row (same host, reply, outcome).
struct AttemptEntry {
    smtp::WallTime first{}, last{};
    std::uint32_t count = 0;
    std::string host;
    Reply reply;
    Outcome outcome = Outcome::deferred;
    bool in_doubt = false;
    std::string tls;
    std::string source;
    static void fields(auto& m, auto& f) {
        f(1, m.first);
        f(2, m.last);
        f(3, m.count);
        f(4, m.host);
        f(5, m.reply);
        f(6, m.outcome);
        f(7, m.in_doubt);
        f(8, m.tls);
        f(9, m.source);
    }
    bool operator==(const AttemptEntry&) const = default;
};

struct RecipientState {
    std::string address;
    std::string user;              // delivery user of a local one
    std::string target, transport; // as in ResolvedRecipient
    std::string reverse_path;      // "" = the message's, "<>" = the null one, else the address
    std::uint32_t origin = 0;      // number of the recipient it was expanded from; its own for the envelope's
    std::uint32_t envelope = 0;    // number of the envelope recipient it comes from in the end (ORCPT, NOTIFY)
    Fate fate = Fate::unknown;
    Status status = Status::pending;
    bool list = false;                           // as in ResolvedRecipient
    std::string delivered_to;                    // as in ResolvedRecipient
    bool redo = false;                           // result of an expansion that an operator wants repeated
    bool reported = false;                       // NDR or report of success issued, or none wanted
    SuccessReport success = SuccessReport::none; // delivered: the report due to the sender until `reported`
    bool in_doubt = false;                       // may have been delivered already
    bool delay_noticed = false;
    std::uint32_t failures = 0;    // that count on its retry schedule
    smtp::WallTime next_attempt{}; // not before; 1970: at once
    std::uint32_t tries = 0;       // attempts in all
    Reply reply;                   // the last one, or the decision's
    std::string host;              // of the last attempt
    smtp::WallTime last_attempt{};
    std::vector<AttemptEntry> attempts; // the first 3 and the last 20
    // How long it waited before its attempts: ms by its retry schedule, s for pauses, for its link or queue.
    std::uint64_t waited_retry = 0;
    std::uint32_t waited_pause = 0, waited_link = 0;

    static void fields(auto& m, auto& f) {
        f(1, m.address);
        f(2, m.user);
        f(3, m.reverse_path);
        f(4, m.origin);
        f(5, m.envelope);
        f(6, m.fate);
        f(7, m.status);
        f(8, m.reported);
        f(9, m.in_doubt);
        f(10, m.delay_noticed);
        f(11, m.failures);
        f(12, m.next_attempt);
        f(13, m.tries);
        f(14, m.reply);
        f(15, m.host);
        f(16, m.last_attempt);
        f(17, m.attempts);
        f(18, m.target);
        f(19, m.transport);
        f(20, m.list);
        f(24, m.success);
        f(25, m.delivered_to);
        f(26, m.redo);
        f(27, m.waited_retry);
        f(28, m.waited_pause);
        f(29, m.waited_link);
    }
    bool operator==(const RecipientState&) const = default;

    // Nothing is left to do: delivered, expanded, discarded, removed, or failed and reported.
    bool accounted_for() const {
        if (status == Status::pending) return false;
        return (status != Status::failed && status != Status::expired) || reported;
    }
};

inline constexpr std::size_t first_attempts_kept = 3;
inline constexpr std::size_t last_attempts_kept = 20;

struct MessageState {
    Envelope envelope;
    std::vector<RecipientState> recipients;
    bool problem = false;
    bool held = false;
    std::string held_by, held_why;
    smtp::WallTime held_since{}, released{}; // 1970: not known, or never
    std::uint64_t held_for = 0;              // ms, by holds that have ended, beyond its schedule
    std::int32_t priority = 0;
    std::string lane;
    std::optional<smtp::WallTime> expiry;    // explicit; otherwise from its lifetime
    std::optional<smtp::WallTime> free_from; // end of its schedule, by an operator; else as in the envelope
    std::uint32_t lifetime = 0;              // seconds from when it is first free to go; 0: not recorded
    std::string retry_policy;                // "" = the route's, else the retry schedule
    std::optional<RetryValues> retry_values; // of retry_policy
    std::string rerouted_to;                 // next hop set by an operator; "" = by the routes
    Transferring transfer;                   // the last one to another node; under_way: it decides
    bool ndr_issued = false;                 // for any recipient
    bool delay_notice_sent = false;
    std::uint32_t crashes_alone = 0;                            // agents that died with this message alone in flight
    std::uint32_t crashes = 0;                                  // in all
    std::uint32_t ndr_passes = 0;                               // reports made so far
    std::vector<std::pair<std::uint16_t, std::string>> unknown; // records of later versions, as they came

    // The state of a new message, or the one that a message from another node has brought along.
    explicit MessageState(Envelope e = {});
    bool operator==(const MessageState&) const = default;

    // Folds one record in. On Malformed the state is unchanged.
    std::expected<void, Malformed> apply(const Property& property);

    // The reverse-path used for a recipient: its own or the message's. "" is the null one.
    const std::string& reverse_path_of(const RecipientState& recipient) const;
    // The envelope recipient whose DSN parameters apply to it.
    const EnvelopeRecipient& envelope_of(const RecipientState& recipient) const {
        return envelope.recipients[recipient.envelope];
    }
    // Every recipient is accounted for: the file may be removed.
    bool finished() const;
    // The state without the envelope, for a Checkpoint record.
    Checkpoint checkpoint() const;
};

} // namespace spool

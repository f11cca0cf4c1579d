// What happens to messages, as events of the journal. The parts that carry something out report it here; the strings
// come from where they are at hand: the envelope, an agent's report, else the message's file. Knows events and their
// members; decides nothing.
#pragma once
#include "daemons/common/proto/delivery.h"
#include "daemons/decide/queue/events.h"
#include "daemons/queue-manager/events/outcome_counts.h"
#include "daemons/queue-manager/journal/journal.h"
#include "daemons/queue-manager/spool/message_loader.h"
#include "libsmtp/delivery/remote_reply.h"
#include "libspool/journal/message_facts.h"
#include "libspool/message/message_state.h"
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace queue_manager {

class MessageEvents {
public:
    using Numbers = std::span<const std::uint32_t>; // of recipients
    // What became of the message, when all of it is recorded.
    enum class Result : std::uint8_t {
        reached,
        not_reached, // it failed or expired for some recipient, and is no report or the like (null sender)
    };
    using Finished = std::move_only_function<void(Result)>;

    // Both outlive it.
    MessageEvents(Journal& journal, MessageLoader& loader) : journal_(journal), loader_(loader) {}
    MessageEvents(const MessageEvents&) = delete;

    // ---- acceptance ----

    void accepted(spool::QueueId id, const spool::MessageState& state, std::uint64_t size);
    // It was found in the spool. What a crash may have prevented is recorded now: its acceptance, ends of recipients.
    void found(spool::QueueId id, spool::Location location, const spool::MessageState& state, std::uint64_t size);
    // It was found damaged, and is in quarantine/. `incomplete`: as if it had never been accepted.
    void found_damaged(spool::QueueId id, bool incomplete, std::string_view why);
    // It was found, and was finished before: it is removed now.
    Result found_finished(spool::QueueId id, spool::Location location, const spool::MessageState& state,
                          std::uint64_t size);
    struct Expansion {
        std::string recipient;
        std::vector<std::string> into;
    };
    void expanded(spool::QueueId id, spool::Location location, std::vector<Expansion> expansions);

    // ---- recipients ----

    // What an agent reports as delivered or failed.
    void ended(const proto::delivery::Done& done);
    // What it reports as deferred, of these.
    void deferred(const proto::delivery::Done& done, Numbers numbers, smtp::WallTime next_attempt);
    // No agent tried, and none will.
    void failed_untried(spool::QueueId id, const spool::MessageState& state, Numbers numbers,
                        const smtp::RemoteReply& reason);
    // They were only to be verified, and are good; nothing is delivered.
    void verified(spool::QueueId id, const spool::MessageState& state, Numbers numbers, const smtp::RemoteReply& how);
    struct Discarded {
        std::string recipient, original, status, text;
    };
    void discarded(spool::QueueId id, spool::Location location, std::vector<Discarded> recipients);
    void expired(spool::QueueId id, Numbers numbers);
    // Recipients are about to; `waits`: since their last attempts.
    void expiring(spool::QueueId id, const decide::queue::GateWaits& waits);
    // To the sender, about these.
    void reported(spool::QueueId id, Numbers numbers, spool::QueueId report);

    // ---- the message ----

    // Every recipient is accounted for: calls `then`, soon. `report`: of the agent whose result was the last; null:
    // none.
    void finished(spool::QueueId id, spool::Location location, const proto::delivery::Done* report, Finished then);
    // By an operator, or because it is damaged. It does not come to a message.finished.
    void removed(spool::QueueId id, const spool::journal::MessageFacts& about, std::string_view who,
                 std::string_view why);
    // It is another node's now, where it has that id. It does not come to a message.finished.
    void transferred_out(spool::QueueId id, const spool::journal::MessageFacts& about, const spool::Transferring& how,
                         std::string_view its_id);
    // Another change by an operator. `what`: the new value, under `name`.
    void changed(spool::journal::EventType type, spool::QueueId id, const spool::journal::MessageFacts& about,
                 std::string_view who, std::string_view why, std::string_view name = {}, std::string_view what = {});

private:
    using Read = std::move_only_function<void(const spool::MessageState* state)>; // null: it cannot be read
    void with_file(spool::QueueId id, spool::Location location, Read then);
    template <class Fill> void add(spool::journal::EventType type, spool::QueueId id, Fill&& fill);
    void ended(const proto::delivery::Done& done, const proto::delivery::RecipientResult& result);
    void accepted(spool::QueueId id, const spool::MessageState& state, std::uint64_t size, bool again);
    void record_what_was_lost(spool::QueueId id, spool::Location location, const spool::MessageState& state,
                              std::uint64_t size);
    void ended_again(spool::QueueId id, const spool::MessageState& state, std::uint32_t number, RecipientEnd end);
    Result finish(spool::QueueId id, const spool::journal::MessageFacts& about, const spool::Waited& waited = {});
    spool::Waited waited_of_last(spool::QueueId id, const spool::MessageState& state) const;
    spool::Waited waited(spool::QueueId id, const spool::MessageState& state,
                         const spool::RecipientState& recipient) const;

    Journal& journal_;
    MessageLoader& loader_;
    OutcomeCounters ends_;
    std::unordered_map<spool::QueueId, decide::queue::GateWaits> expiring_; // what the last wait was for
};

} // namespace queue_manager

// What a message's file (or the hint that came with its name) says, put as the engine wants to hear it. Pure.
#pragma once
#include "daemons/decide/queue/events.h"
#include "libspool/message/message_state.h"
#include <cstdint>
#include <string>
#include <vector>

namespace queue_manager {

// A message that is new to the engine, with what its spans point to. Views into the state it was made from:
// that one must outlive it.
class AcceptedMessage {
public:
    AcceptedMessage(spool::QueueId id, spool::Location location, std::uint64_t size, const spool::MessageState& state);
    AcceptedMessage(const AcceptedMessage&) = delete;

    // It was submitted just now.
    void mark_new() { event_.origin = decide::queue::Origin::submitted; }
    // An agent of an earlier queue-manager still delivers it.
    void mark_with_earlier_agent() { event_.with_earlier_agent = true; }
    const decide::queue::Accepted& event() const { return event_; }
    // Nothing is left to do for it: the file is a leftover of a removal that a crash undid.
    bool finished() const { return finished_; }

private:
    decide::queue::Accepted event_;
    std::vector<decide::queue::RecipientNumber> open_;
    std::vector<decide::queue::RestoredRecipient> restored_;
    std::vector<spool::ReportRecipient> unreported_;
    decide::queue::RetryPolicy policy_; // if its values are on record
    bool finished_ = false;
};

} // namespace queue_manager

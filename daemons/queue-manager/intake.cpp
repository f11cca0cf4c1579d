#include "daemons/queue-manager/intake.h"

namespace queue_manager {

namespace {

decide::queue::Lane lane_of(const spool::MessageState& state) {
    using decide::queue::Lane;
    if (state.lane == "high") return Lane::high;
    if (state.lane == "bulk") return Lane::bulk;
    if (!state.lane.empty() || state.priority == 0) return Lane::normal;
    return state.priority > 0 ? Lane::high : Lane::bulk;
}

bool was_tried(const spool::RecipientState& recipient, const spool::MessageState& state) {
    return recipient.failures > 0 || recipient.next_attempt != smtp::WallTime{} || state.problem ||
           state.deaths_alone > 0;
}

} // namespace

Intake::Intake(spool::QueueId id, spool::Location location, std::uint64_t size,
               const spool::MessageState& state) {
    const spool::Envelope& envelope = state.envelope;
    event_.id = id;
    event_.location = location;
    event_.size = size;
    event_.arrival = envelope.arrival;
    event_.not_before = envelope.not_before.value_or(smtp::WallTime{});
    event_.expiry = state.expiry ? *state.expiry : envelope.expiry.value_or(smtp::WallTime{});
    event_.lane = lane_of(state);
    event_.sender =
        envelope.reverse_path.empty() ? decide::queue::Sender::null : decide::queue::Sender::ordinary;
    event_.submitter = envelope.submitter;
    event_.pool = envelope.pool;
    event_.retry_policy = state.retry_policy;
    event_.recipients = static_cast<std::uint32_t>(state.recipients.size());
    event_.delay_notice_sent = state.delay_notice_sent;
    event_.held = state.held; // by its filter's verdict at first

    for (std::uint32_t number = 0; number < state.recipients.size(); ++number) {
        const spool::RecipientState& recipient = state.recipients[number];
        if (recipient.accounted_for()) continue;
        open_.push_back(number);
        if (was_tried(recipient, state))
            restored_.push_back({.number = number,
                                 .failures = recipient.failures,
                                 .message_failures = state.problem ? recipient.failures : 0,
                                 .deaths = state.deaths_alone,
                                 .suspect = state.deaths_alone > 0,
                                 .problem = state.problem,
                                 .next_attempt = recipient.next_attempt});
    }
    finished_ = open_.empty();
    if (open_.size() < state.recipients.size()) event_.open = open_;
    event_.restored = restored_;
}

} // namespace queue_manager

#include "daemons/queue-manager/conversion/accepted_message.h"
#include "daemons/decide/message/dsn_requests.h"
#include "daemons/queue-manager/conversion/records.h"
#include "daemons/queue-manager/conversion/retry_values.h"
#include "libspool/format/lane.h"
#include "libspool/message/schedule.h"
#include <optional>

namespace queue_manager {

namespace {

decide::queue::Lane lane_of(const spool::MessageState& state) {
    using decide::queue::Lane;
    const auto name = spool::lane_name(state.lane, state.priority);
    return name == "high" ? Lane::high : name == "bulk" ? Lane::bulk : Lane::normal;
}

bool was_tried(const spool::RecipientState& recipient, const spool::MessageState& state) {
    return recipient.failures > 0 || recipient.next_attempt != smtp::WallTime{} || state.problem ||
           state.crashes_alone > 0;
}

// The report still due to the sender about a recipient that did not fail.
std::optional<decide::queue::ReportKind> owed(const spool::RecipientState& recipient, std::uint32_t number,
                                              const decide::DsnRequests& wishes) {
    using decide::queue::ReportKind;
    if (recipient.reported) return {};
    if (recipient.status == spool::Status::delivered && recipient.success != spool::SuccessReport::none)
        return recipient.success == spool::SuccessReport::delivered ? ReportKind::delivered : ReportKind::relayed;
    return wishes.expansion(number);
}

} // namespace

AcceptedMessage::AcceptedMessage(spool::QueueId id, spool::Location location, std::uint64_t size,
                                 const spool::MessageState& state) {
    const spool::Envelope& envelope = state.envelope;
    event_.id = id;
    event_.location = location;
    event_.size = size;
    event_.arrival = envelope.arrival;
    event_.not_before = spool::schedule_end(state);
    event_.expiry = state.expiry.value_or(smtp::WallTime{});
    event_.lifetime = std::chrono::seconds(state.lifetime);
    event_.deliver_by = envelope.deliver_by.value_or(smtp::WallTime{});
    event_.late = envelope.late;
    event_.lane = lane_of(state);
    event_.sender = envelope.reverse_path.empty() ? decide::queue::Sender::null : decide::queue::Sender::ordinary;
    event_.submitter = envelope.submitter;
    event_.pool = envelope.pool;
    event_.retry_policy = state.retry_policy;
    if (state.retry_values) {
        policy_ = policy_of(state.retry_policy, *state.retry_values);
        event_.policy = &policy_;
    }
    event_.recipients = static_cast<std::uint32_t>(state.recipients.size());
    event_.delay_notice_sent = state.delay_notice_sent;
    event_.trace = envelope.trace;
    event_.held = state.held || state.transfer.under_way; // by its filter's verdict at first

    std::optional<decide::DsnRequests> wishes; // rarely needed: what is new is open
    for (std::uint32_t number = 0; number < state.recipients.size(); ++number) {
        const spool::RecipientState& recipient = state.recipients[number];
        if (recipient.accounted_for()) {
            if (!wishes) wishes.emplace(state);
            if (const auto kind = owed(recipient, number, *wishes)) {
                const auto& reply = recipient.reply;
                unreported_.push_back(
                    {.number = number,
                     .kind = *kind,
                     .reason = {reply.status, reply.text, {}, reply.code == 0 ? "" : host_name_of(recipient.host)}});
            }
            continue;
        }
        open_.push_back(number);
        if (was_tried(recipient, state))
            restored_.push_back({.number = number,
                                 .failures = recipient.failures,
                                 .message_failures = state.problem ? recipient.failures : 0,
                                 .deaths = state.crashes_alone,
                                 .suspect = state.crashes_alone > 0,
                                 .problem = state.problem,
                                 .next_attempt = recipient.next_attempt});
    }
    finished_ = open_.empty() && unreported_.empty();
    if (open_.size() < state.recipients.size()) event_.open = open_;
    if (open_.empty()) event_.recipients = 0; // none is open, although an empty list means all
    event_.unreported = unreported_;
    event_.restored = restored_;
}

} // namespace queue_manager

#include "daemons/queue-manager/events/outcome_counts.h"
#include "daemons/queue-manager/conversion/records.h"

namespace queue_manager {

std::optional<RecipientEnd> OutcomeCounters::end_of(const spool::RecipientState& recipient) {
    using spool::Status;
    switch (recipient.status) {
    case Status::pending: return {};
    case Status::delivered: return RecipientEnd::delivered;
    case Status::failed: return is_suppressed(recipient) ? RecipientEnd::suppressed : RecipientEnd::failed;
    case Status::expired: return RecipientEnd::expired;
    case Status::discarded: return RecipientEnd::discarded;
    case Status::expanded: return RecipientEnd::expanded;
    case Status::removed: return RecipientEnd::removed;
    }
    return {};
}

OutcomeCounts counts_of(const spool::MessageState& state) {
    OutcomeCounts out{};
    for (const auto& recipient : state.recipients)
        if (const auto end = OutcomeCounters::end_of(recipient)) ++out[static_cast<std::size_t>(*end)];
    return out;
}

void OutcomeCounters::restore(spool::QueueId id, const spool::MessageState& state) {
    counts_.erase(id);
    for (const auto& recipient : state.recipients)
        if (const auto end = end_of(recipient)) add(id, *end);
}

OutcomeCounts OutcomeCounters::take(spool::QueueId id) {
    const auto known = counts_.extract(id);
    return known ? known.mapped() : OutcomeCounts{};
}

} // namespace queue_manager

#include "daemons/queue-manager/engine_driver/undelivered_log.h"
#include "daemons/common/delivery/delivery_line.h"
#include "daemons/common/runtime/loop.h"
#include <algorithm>
#include <utility>

namespace queue_manager {

using common::DeliveryStatus;
using smtp::Outcome;

namespace {

// Those of `all` that are in `numbers`.
std::vector<const DiscardedRecipient*> discarded_among(const std::vector<DiscardedRecipient>& all,
                                                       std::span<const std::uint32_t> numbers) {
    std::vector<const DiscardedRecipient*> out;
    std::vector<std::uint32_t> sorted(numbers.begin(), numbers.end());
    std::ranges::sort(sorted);
    for (const DiscardedRecipient& each : all)
        if (std::ranges::binary_search(sorted, each.number)) out.push_back(&each);
    return out;
}

DeliveryStatus status_of(Outcome outcome, bool verify) {
    if (outcome == Outcome::delivered) return DeliveryStatus::deliverable;
    if (verify) return DeliveryStatus::undeliverable;
    return outcome == Outcome::failed ? DeliveryStatus::bounced : DeliveryStatus::deferred;
}

} // namespace

void UndeliveredLog::write_discarded(spool::QueueId id, const EventContext::Categorization& answer,
                                     std::span<const std::uint32_t> numbers, smtp::WallTime now) {
    std::vector<MessageEvents::Discarded> events;
    for (const DiscardedRecipient* each : discarded_among(answer.judgement.discarded, numbers)) {
        events.push_back({each->to, each->original_to, each->reason.status, each->reason.text});
        const common::DeliveryLine line{.queue_id = id,
                                        .to = each->to,
                                        .original_to = each->original_to,
                                        .delays = {.before_queue = now - answer.subject.arrival},
                                        .status = each->reason.status,
                                        .outcome = DeliveryStatus::sent,
                                        .reason = each->reason.text};
        common::write(log_.context("discard"), line);
        common::count(metrics_, common::Transport::none, line);
    }
    events_.discarded(id, spool::Location::incoming, std::move(events));
}

std::vector<spool::Property> discarded_records(const std::vector<DiscardedRecipient>& discarded,
                                               std::span<const std::uint32_t> numbers, smtp::WallTime now) {
    std::map<std::pair<std::string_view, std::string_view>, std::vector<std::uint32_t>> by_reason;
    for (const DiscardedRecipient* each : discarded_among(discarded, numbers))
        by_reason[{each->reason.status, each->reason.text}].push_back(each->number);
    std::vector<spool::Property> out;
    for (auto& [reason, recipients] : by_reason)
        out.emplace_back(
            spool::StatusChanged{.recipients = std::move(recipients),
                                 .status = spool::Status::discarded,
                                 .time = now,
                                 .reply = {.status = std::string(reason.first), .text = std::string(reason.second)},
                                 .who = "categorizer"});
    return out;
}

void UndeliveredLog::add(spool::QueueId id, const std::vector<CategorizedRecipient>& recipients) {
    using spool::Fate;
    for (const CategorizedRecipient& each : recipients) {
        if (!each.unlogged) continue;
        if (each.fate == Fate::failed) add(id, Lines{{each.number}, Outcome::failed, each.reason});
        if (each.fate == Fate::unknown) add(id, Lines{{each.number}, Outcome::deferred, each.reason});
        if (each.fate != Fate::failed && each.fate != Fate::unknown &&
            !each.reason.text.empty()) // that is sendmail -bv
            add(id, Lines{{each.number}, Outcome::delivered, each.reason});
    }
}

void UndeliveredLog::write() {
    while (!gathered_.empty()) write(gathered_.begin()->first);
}

// The file is read once for all lines of a message.
void UndeliveredLog::write(spool::QueueId id) {
    auto found = gathered_.extract(id);
    if (!found) return;
    loader_.read(id, spool::Location::incoming,
                 [this, id, lines = std::move(found.mapped())](const spool::MessageState& state, std::uint64_t) {
                     for (const Lines& each : lines) write(id, state, each);
                 });
}

void UndeliveredLog::write(spool::QueueId id, const spool::MessageState& state, Lines lines) {
    if (lines.numbers.empty()) // all of the envelope
        for (std::uint32_t number = 0; number < state.recipients.size(); ++number)
            if (!state.recipients[number].accounted_for()) lines.numbers.push_back(number);
    const bool good = lines.outcome == Outcome::delivered;
    if (lines.outcome == Outcome::failed) events_.failed_untried(id, state, lines.numbers, lines.reason);
    if (good) events_.verified(id, state, lines.numbers, lines.reason);
    for (const auto number : lines.numbers) {
        if (number >= state.recipients.size()) continue;
        const auto& recipient = state.recipients[number];
        const common::DeliveryLine line{.queue_id = id,
                                        .to = recipient.address,
                                        .original_to = state.envelope_of(recipient).address,
                                        .delays = {.before_queue = common::Loop::now().wall - state.envelope.arrival},
                                        .status = lines.reason.status,
                                        .outcome =
                                            status_of(lines.outcome, state.envelope.trace == spool::Trace::verify),
                                        .reason = lines.reason.text};
        common::write(log_.context(good ? "local" : "error"), line);
        if (!good) common::count(metrics_, common::Transport::none, line);
    }
}

} // namespace queue_manager

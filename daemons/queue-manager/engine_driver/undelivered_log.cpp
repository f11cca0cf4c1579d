// The delivery lines of recipients that no agent had: those that are thrown away, those whose link rests, those that the
// categorizer or the router has no way for; and what the file is to say of the first.
#include "daemons/common/delivery/delivery_line.h"
#include "daemons/queue-manager/engine_driver/queue_manager.h"
#include <algorithm>
#include <cassert>
#include <map>

namespace queue_manager {

using namespace decide::queue;
using common::DeliveryStatus;

namespace {

// Those of `all` that are meant.
std::vector<const DiscardedRecipient*> named(const std::vector<DiscardedRecipient>& all,
                                             std::vector<std::uint32_t> numbers) {
    std::vector<const DiscardedRecipient*> out;
    std::ranges::sort(numbers);
    for (const DiscardedRecipient& each : all)
        if (std::ranges::binary_search(numbers, each.number)) out.push_back(&each);
    return out;
}

} // namespace

// Who they are stands in the answer at hand: the file may be gone in the same breath.
void QueueManager::execute(const NoticeDiscarded& action, smtp::Now now) {
    assert(categorization_ != nullptr); // only the categorizer throws away
    const auto numbers = actions_.of(action.numbers);
    for (const DiscardedRecipient* each : named(categorization_->judgement.discarded, {numbers.begin(), numbers.end()})) {
        const common::DeliveryLine line{.queue_id = action.id,
                                        .to = each->to,
                                        .original_to = each->original_to,
                                        .delays = {.before_queue = now.wall - categorization_->subject.arrival},
                                        .status = each->reason.status,
                                        .outcome = DeliveryStatus::sent,
                                        .reason = each->reason.text};
        common::write(log_.context("discard"), line);
        common::count(context_.metrics, common::Transport::none, line);
    }
}

// As records of a message that goes on with others: why is shown of them, too.
std::vector<spool::Property> QueueManager::discarded(std::vector<std::uint32_t> numbers, smtp::WallTime now) const {
    assert(categorization_ != nullptr);
    std::map<std::pair<std::string_view, std::string_view>, std::vector<std::uint32_t>> by_reason;
    for (const DiscardedRecipient* each : named(categorization_->judgement.discarded, std::move(numbers)))
        by_reason[{each->reason.status, each->reason.text}].push_back(each->number);
    std::vector<spool::Property> out;
    for (auto& [reason, recipients] : by_reason)
        out.emplace_back(spool::StatusChanged{.recipients = std::move(recipients),
                                        .status = spool::Status::discarded,
                                        .time = now,
                                        .reply = {.status = std::string(reason.first), .text = std::string(reason.second)},
                                        .who = "categorizer"});
    return out;
}

void QueueManager::execute(const NoticeSuspended& action, smtp::Now) {
    const auto numbers = actions_.of(action.numbers);
    Reason reason = actions_.reasons[action.reason];
    reason.text.insert(0, "delivery temporarily suspended: ");
    reason.status = reason.status.empty() ? "4.0.0" : "4" + reason.status.substr(1); // a link's refusal is no message's
    log_undelivered(action.id, {{numbers.begin(), numbers.end()}, Outcome::deferred, std::move(reason)});
}

void QueueManager::execute(const NoticeUndelivered& action, smtp::Now now) {
    const auto numbers = actions_.of(action.numbers);
    const std::vector<std::uint32_t> recipients(numbers.begin(), numbers.end());
    const Reason& reason = actions_.reasons[action.reason];
    if (action.outcome == Outcome::failed) record(action.id, {failed_untried(recipients, reason, "router", now.wall)});
    log_undelivered(action.id, {recipients, action.outcome, reason});
}

void QueueManager::log_categorized(spool::QueueId id, const std::vector<CategorizedRecipient>& recipients) {
    for (const CategorizedRecipient& each : recipients) {
        if (!each.unlogged) continue;
        if (each.fate == Fate::failed) log_undelivered(id, {{each.number}, Outcome::failed, each.reason});
        if (each.fate == Fate::unknown) log_undelivered(id, {{each.number}, Outcome::deferred, each.reason});
        if (each.fate != Fate::failed && each.fate != Fate::unknown && !each.reason.text.empty()) // that is sendmail -bv
            log_undelivered(id, {{each.number}, Outcome::delivered, each.reason});
    }
}

void QueueManager::write_undelivered() {
    while (!undelivered_.empty()) write_undelivered(undelivered_.begin()->first);
}

// The file is read once for all lines of a message.
void QueueManager::write_undelivered(spool::QueueId id) {
    auto found = undelivered_.extract(id);
    if (!found) return;
    readings_.read(id, spool::Location::incoming,
                   [this, id, lines = std::move(found.mapped())](const spool::MessageState& state, std::uint64_t) {
                       for (const Undelivered& each : lines) write_undelivered(id, state, each);
                   });
}

void QueueManager::write_undelivered(spool::QueueId id, const spool::MessageState& state, Undelivered lines) {
    if (lines.numbers.empty()) // all of the envelope
        for (std::uint32_t number = 0; number < state.recipients.size(); ++number)
            if (!state.recipients[number].accounted_for()) lines.numbers.push_back(number);
    for (const auto number : lines.numbers) {
        if (number >= state.recipients.size()) continue;
        const auto& recipient = state.recipients[number];
        const bool verify = state.envelope.trace == spool::Trace::verify;
        const bool good = lines.outcome == Outcome::delivered;
        const common::DeliveryLine line{.queue_id = id,
                                        .to = recipient.address,
                                        .original_to = state.envelope_of(recipient).address,
                                        .delays = {.before_queue = common::Loop::now().wall - state.envelope.arrival},
                                        .status = lines.reason.status,
                                        .outcome = good                               ? DeliveryStatus::deliverable
                                                   : verify                           ? DeliveryStatus::undeliverable
                                                   : lines.outcome == Outcome::failed ? DeliveryStatus::bounced
                                                                                      : DeliveryStatus::deferred,
                                        .reason = lines.reason.text};
        common::write(log_.context(good ? "local" : "error"), line);
        if (!good) common::count(context_.metrics, common::Transport::none, line);
    }
}

} // namespace queue_manager

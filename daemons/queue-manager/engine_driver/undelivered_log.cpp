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
std::vector<const Discarded*> named(const std::vector<Discarded>& all, std::vector<std::uint32_t> numbers) {
    std::vector<const Discarded*> out;
    std::ranges::sort(numbers);
    for (const Discarded& each : all)
        if (std::ranges::binary_search(numbers, each.number)) out.push_back(&each);
    return out;
}

} // namespace

// Who they are stands in the answer at hand: the file may be gone in the same breath.
void QueueManager::carry_out(const NoticeDiscarded& action, smtp::Now now) {
    assert(settling_ != nullptr); // only the categorizer throws away
    const auto numbers = actions_.of(action.numbers);
    for (const Discarded* each : named(settling_->judgement.discarded, {numbers.begin(), numbers.end()})) {
        const common::DeliveryLine line{.queue_id = action.id,
                                        .to = each->to,
                                        .original_to = each->original_to,
                                        .delays = {.before_queue = now.wall - settling_->subject.arrival},
                                        .status = each->reason.status,
                                        .outcome = DeliveryStatus::sent,
                                        .reason = each->reason.text};
        common::write(log_.as("discard"), line);
        common::count(around_.figures, common::Transport::none, line);
    }
}

// As records of a message that goes on with others: why is shown of them, too.
std::vector<spool::Property> QueueManager::discarded(std::vector<std::uint32_t> numbers, smtp::WallTime now) const {
    assert(settling_ != nullptr);
    std::map<std::pair<std::string_view, std::string_view>, std::vector<std::uint32_t>> by_reason;
    for (const Discarded* each : named(settling_->judgement.discarded, std::move(numbers)))
        by_reason[{each->reason.status, each->reason.text}].push_back(each->number);
    std::vector<spool::Property> out;
    for (auto& [reason, recipients] : by_reason)
        out.emplace_back(spool::Decided{.recipients = std::move(recipients),
                                        .status = spool::Status::discarded,
                                        .time = now,
                                        .reply = {.status = std::string(reason.first), .text = std::string(reason.second)},
                                        .who = "categorizer"});
    return out;
}

void QueueManager::carry_out(const NoticeSuspended& action, smtp::Now) {
    const auto numbers = actions_.of(action.numbers);
    Reason reason = actions_.reasons[action.reason];
    reason.text.insert(0, "delivery temporarily suspended: ");
    reason.status = reason.status.empty() ? "4.0.0" : "4" + reason.status.substr(1); // a link's refusal is no message's
    say_untried(action.id, {{numbers.begin(), numbers.end()}, Outcome::deferred, std::move(reason)});
}

void QueueManager::carry_out(const NoticeUntried& action, smtp::Now now) {
    const auto numbers = actions_.of(action.numbers);
    const std::vector<std::uint32_t> recipients(numbers.begin(), numbers.end());
    const Reason& reason = actions_.reasons[action.reason];
    if (action.outcome == Outcome::failed) record(action.id, {failed_untried(recipients, reason, "router", now.wall)});
    say_untried(action.id, {recipients, action.outcome, reason});
}

void QueueManager::say_settled(spool::QueueId id, const std::vector<Settled>& recipients) {
    for (const Settled& each : recipients) {
        if (!each.unsaid) continue;
        if (each.fate == Fate::failed) say_untried(id, {{each.number}, Outcome::failed, each.reason});
        if (each.fate == Fate::unknown) say_untried(id, {{each.number}, Outcome::deferred, each.reason});
        if (each.fate != Fate::failed && each.fate != Fate::unknown && !each.reason.text.empty()) // that is sendmail -bv
            say_untried(id, {{each.number}, Outcome::delivered, each.reason});
    }
}

void QueueManager::write_untried() {
    while (!untried_.empty()) write_untried(untried_.begin()->first);
}

// The file is read once for all lines of a message.
void QueueManager::write_untried(spool::QueueId id) {
    auto found = untried_.extract(id);
    if (!found) return;
    readings_.read(id, spool::Location::incoming,
                   [this, id, lines = std::move(found.mapped())](const spool::MessageState& state, std::uint64_t) {
                       for (const Untried& each : lines) write_untried(id, state, each);
                   });
}

void QueueManager::write_untried(spool::QueueId id, const spool::MessageState& state, Untried lines) {
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
        common::write(log_.as(good ? "local" : "error"), line);
        if (!good) common::count(around_.figures, common::Transport::none, line);
    }
}

} // namespace queue_manager

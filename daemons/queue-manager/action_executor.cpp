#include "daemons/queue-manager/action_executor.h"
#include "daemons/common/runtime/crash_point.h"
#include "daemons/queue-manager/conversion/retry_values.h"
#include "libsmtp/text/date.h"
#include <algorithm>
#include <cassert>
#include <chrono>
#include <iterator>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace queue_manager {

void ActionExecutor::execute(const decide::queue::Action& action, const decide::queue::Actions& all,
                             const EventContext& event, smtp::Now now) {
    std::visit([&](const auto& each) { execute(each, Step{all, event, now}); }, action);
}

// ---- requests and orders ----

void ActionExecutor::execute(const decide::queue::AskCategorizer& action, const Step& step) {
    deps_.categorizer.ask(action.id, step.of(action.numbers), step.event);
}

void ActionExecutor::execute(const decide::queue::AskRoute& action, const Step&) { deps_.router.ask(action); }

void ActionExecutor::execute(const decide::queue::AskSuppressions& action, const Step& step) {
    deps_.suppressions.check(action, step.of(action.numbers));
}

void ActionExecutor::execute(const decide::queue::AskTokens& action, const Step&) { deps_.rates.ask(action); }

void ActionExecutor::execute(const decide::queue::OpenConnection& action, const Step& step) {
    deps_.agents.open(action, step.now);
}

void ActionExecutor::execute(const decide::queue::Deliver& action, const Step& step) {
    deps_.agents.deliver(action, step.of(action.numbers));
}

void ActionExecutor::execute(const decide::queue::CloseConnection& action, const Step&) { deps_.agents.close(action); }

void ActionExecutor::execute(const decide::queue::Recall& action, const Step&) { deps_.agents.recall(action); }

void ActionExecutor::execute(const decide::queue::CancelDelivery& action, const Step&) { deps_.agents.cancel(action); }

void ActionExecutor::execute(const decide::queue::MakeReport& action, const Step& step) {
    deps_.reports.make(action, step.now);
}

void ActionExecutor::execute(const decide::queue::LinkState& action, const Step&) {
    deps_.system_events.link(action);
    deps_.router.report_state(action);
}

void ActionExecutor::execute(const decide::queue::LinkForgotten& action, const Step&) {
    deps_.router.forget_link(action.link);
}

void ActionExecutor::execute(const decide::queue::DomainForgotten& action, const Step&) {
    deps_.router.forget_domain(action.domain);
}

// ---- records ----

void ActionExecutor::record(spool::QueueId id, spool::Property property, const Step& step, spool::Sync sync) {
    std::vector<spool::Property> records;
    records.push_back(std::move(property));
    deps_.files.record(id, std::move(records), sync, step.event.acknowledgement);
}

void ActionExecutor::execute(const decide::queue::RecordDeferral& action, const Step& step) {
    const auto numbers = step.of(action.numbers);
    const auto* result = step.event.result;
    const bool tried = result != nullptr && result->event().id == action.id; // else its link's or queue's failure
    auto attempt = tried ? result->attempt(numbers) : std::nullopt;
    if (attempt) deps_.events.deferred(result->report(), numbers, action.next_attempt);
    if (!attempt) { // no agent tried: the reason is our own
        const auto& reason = step.all.reasons[action.reason];
        attempt.emplace();
        attempt->recipients.assign(numbers.begin(), numbers.end());
        attempt->time = step.now.wall;
        attempt->reply = spool::Reply{.code = 0, .status = reason.status, .text = reason.text};
    }
    attempt->outcome = spool::Outcome::deferred;
    attempt->next_attempt = action.next_attempt;
    attempt->failures = action.failures;
    std::vector<spool::Property> records;
    records.emplace_back(std::move(*attempt));
    if (action.problem) records.emplace_back(spool::ProblemMarked{true, action.message_failures, step.now.wall});
    deps_.files.record(action.id, std::move(records), spool::Sync::no, step.event.acknowledgement);
}

void ActionExecutor::execute(const decide::queue::RecordOutcome& action, const Step& step) {
    using decide::queue::Finish;
    if (action.finish == Finish::expired) deps_.events.expired(action.id, step.of(action.numbers));
    deps_.events.reported(action.id, step.of(action.numbers), action.report_id);
    // A message that is about to be removed needs no last record.
    const bool removed = std::ranges::any_of(step.all.list, [&](const decide::queue::Action& each) {
        const auto* remove = std::get_if<decide::queue::Remove>(&each);
        return remove != nullptr && remove->id == action.id;
    });
    if (removed) return;
    // Failures are synced: what was reported is neither reported again nor delivered.
    const bool reported = action.finish == Finish::failed || action.finish == Finish::expired;
    deps_.files.record(action.id, records_of(action, step), reported ? spool::Sync::yes : spool::Sync::no,
                       step.event.acknowledgement);
}

std::vector<spool::Property> ActionExecutor::records_of(const decide::queue::RecordOutcome& action,
                                                        const Step& step) const {
    using decide::queue::Finish;
    const auto numbers = step.of(action.numbers);
    const std::vector<std::uint32_t> recipients(numbers.begin(), numbers.end());
    const auto changed_to = [&](spool::Status status) {
        return spool::StatusChanged{
            .recipients = recipients, .status = status, .time = step.now.wall, .who = "queue-manager"};
    };
    std::vector<spool::Property> records;
    switch (action.finish) {
    case Finish::delivered:
        if (auto attempt = step.event.result != nullptr ? step.event.result->attempt(numbers) : std::nullopt)
            records.emplace_back(std::move(*attempt));
        else
            records.emplace_back(changed_to(spool::Status::delivered));
        break;
    case Finish::discarded:
        assert(step.event.categorization != nullptr); // only the categorizer discards
        return discarded_records(step.event.categorization->judgement.discarded, numbers, step.now.wall);
    case Finish::expired: records.emplace_back(changed_to(spool::Status::expired)); [[fallthrough]];
    case Finish::failed: {
        spool::NdrIssued issued{recipients, step.event.reported, {}, step.now.wall};
        if (action.report_id.valid()) issued.report = action.report_id;
        records.emplace_back(std::move(issued));
    }
    }
    return records;
}

void ActionExecutor::execute(const decide::queue::RecordSuspect& action, const Step& step) {
    const auto numbers = step.of(action.numbers);
    // Synced: the next attempt may crash an agent again.
    record(action.id,
           spool::AgentCrash{{numbers.begin(), numbers.end()}, step.now.wall, "delivery agent", action.deaths > 0},
           step, spool::Sync::yes);
}

void ActionExecutor::execute(const decide::queue::RecordHeld& action, const Step& step) {
    deps_.log.critical("{}: held: message crashed {} delivery agents in a row; inspect it before releasing it",
                       action.id.text(), action.deaths);
    record(action.id, spool::Held{true, step.now.wall, "queue-manager", "it crashes delivery agents"}, step,
           spool::Sync::yes);
}

void ActionExecutor::execute(const decide::queue::RecordDelayNotice& action, const Step& step) {
    record(action.id, spool::DelayNoticed{{}, {}, step.now.wall}, step);
}

void ActionExecutor::execute(const decide::queue::RecordReported& action, const Step& step) {
    const auto numbers = step.of(action.numbers);
    deps_.events.reported(action.id, numbers, action.report_id);
    spool::NdrIssued issued{{numbers.begin(), numbers.end()}, step.event.reported, {}, step.now.wall};
    if (action.report_id.valid()) issued.report = action.report_id;
    record(action.id, std::move(issued), step);
}

void ActionExecutor::execute(const decide::queue::RecordPolicy& action, const Step& step) {
    spool::ExpiryChanged changed{.policy = action.policy->name, .time = step.now.wall, .who = "route"};
    changed.retry_values = values_of(*action.policy);
    record(action.id, std::move(changed), step);
}

// ---- files ----

void ActionExecutor::execute(const decide::queue::MoveToMessages& action, const Step&) {
    deps_.store.take_over(action.id);
}

void ActionExecutor::execute(const decide::queue::Remove& action, const Step& step) {
    CRASH_POINT("queue-manager.remove");
    deps_.files.finished(action.id);
    deps_.files.drop_unwritten(action.id);
    removed_.count(common::Loop::now().monotonic);
    deps_.metrics.count(common::MetricId::messages_removed);
    deps_.undelivered.write(action.id);
    const bool keeps_failed = deps_.keeps_failed();
    auto last = keeps_failed ? last_records_of(action.id, step) : std::vector<spool::Property>();
    // What is still to be logged about it is in its file, and comes first.
    const auto* result = step.event.result;
    const bool by_result = result != nullptr && result->event().id == action.id;
    deps_.events.finished(action.id, action.location, by_result ? &result->report() : nullptr,
                          [this, id = action.id, location = action.location, keeps_failed, last = std::move(last),
                           acknowledgement = step.event.acknowledgement](MessageEvents::Result result) mutable {
                              deps_.log.info("{}: removed", id.text());
                              if (keeps_failed && result == MessageEvents::Result::not_reached)
                                  deps_.files.keep_failed(id, location, std::move(last), acknowledgement);
                              else
                                  deps_.files.remove(id, location, acknowledgement);
                          });
}

std::vector<spool::Property> ActionExecutor::last_records_of(spool::QueueId id, const Step& step) const {
    std::vector<spool::Property> last;
    for (const auto& action : step.all.list)
        if (const auto* outcome = std::get_if<decide::queue::RecordOutcome>(&action);
            outcome != nullptr && outcome->id == id)
            std::ranges::move(records_of(*outcome, step), std::back_inserter(last));
    return last;
}

// ---- the log ----

void ActionExecutor::execute(const decide::queue::NoticeActive& action, const Step& step) {
    assert(step.event.categorization != nullptr); // categorization makes a message active, and nothing else does
    const auto& subject = step.event.categorization->subject;
    deps_.log.info("{}: from=<{}>, size={}, nrcpt={} (queue active)", action.id.text(), subject.reverse_path,
                   subject.size, subject.addressed);
}

void ActionExecutor::execute(const decide::queue::NoticeExpired& action, const Step&) {
    deps_.events.expiring(action.id, action.waits);
    deps_.metrics.count(common::MetricId::messages_expired);
    deps_.loader.read(
        action.id, spool::Location::messages, [this, id = action.id](const spool::MessageState& state, std::uint64_t) {
            deps_.log.info("{}: from=<{}>, status=expired, returned to sender", id.text(), state.envelope.reverse_path);
        });
}

void ActionExecutor::execute(const decide::queue::NoticeDiscarded& action, const Step& step) {
    assert(step.event.categorization != nullptr); // only the categorizer discards
    deps_.undelivered.write_discarded(action.id, *step.event.categorization, step.of(action.numbers), step.now.wall);
}

void ActionExecutor::execute(const decide::queue::NoticeSuspended& action, const Step& step) {
    const auto numbers = step.of(action.numbers);
    auto reason = step.all.reasons[action.reason];
    reason.text.insert(0, "delivery temporarily suspended: ");
    reason.status = reason.status.empty() ? "4.0.0" : "4" + reason.status.substr(1); // a link's refusal is no message's
    deps_.undelivered.add(
        action.id,
        UndeliveredLog::Lines{{numbers.begin(), numbers.end()}, decide::queue::Outcome::deferred, std::move(reason)});
}

void ActionExecutor::execute(const decide::queue::NoticeUndelivered& action, const Step& step) {
    const auto numbers = step.of(action.numbers);
    const std::vector<std::uint32_t> recipients(numbers.begin(), numbers.end());
    const auto& reason = step.all.reasons[action.reason];
    if (action.outcome == decide::queue::Outcome::failed)
        record(action.id, failed_untried(recipients, reason, "router", step.now.wall), step);
    deps_.undelivered.add(action.id, UndeliveredLog::Lines{recipients, action.outcome, reason});
}

void ActionExecutor::execute(const decide::queue::NoticeLink& action, const Step&) {
    deps_.system_events.link(action);
    if (action.health == decide::queue::Health::ready) return deps_.log.info("link={} state=ready", action.link);
    deps_.log.warning("link={} state={} failures={} event={} next={} reason={}", action.link, word_of(action.health),
                      action.failures, action.event, smtp::rfc3339_date(action.next_attempt),
                      action.reason != nullptr ? action.reason->text : std::string());
}

void ActionExecutor::execute(const decide::queue::NoticeQueue& action, const Step&) {
    deps_.system_events.queue(action);
    if (action.health == decide::queue::Health::ready) return deps_.log.info("queue={} state=ready", action.queue);
    deps_.log.warning("queue={} state={} failures={} event={} next={} reason={}", action.queue, word_of(action.health),
                      action.failures, action.event, smtp::rfc3339_date(action.next_attempt),
                      action.reason != nullptr ? action.reason->text : std::string());
}

void ActionExecutor::execute(const decide::queue::NoticeReset& action, const Step&) {
    deps_.system_events.routes_reset(action);
    deps_.log.info("reset routes: event=4005 elapsed={}ms queues={} moved={}",
                   std::chrono::duration_cast<std::chrono::milliseconds>(action.elapsed).count(), action.queues,
                   action.moved);
}

} // namespace queue_manager

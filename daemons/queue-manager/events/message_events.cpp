#include "daemons/queue-manager/events/message_events.h"
#include "daemons/decide/outcome/reply_class.h"
#include "daemons/queue-manager/events/attempt_members.h"
#include "libspool/message/schedule.h"
#include "libspool/message/waiting_time.h"
#include "libspool/store/queue_id_source.h"
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <ranges>
#include <utility>

namespace queue_manager {

using proto::delivery::Done;
using proto::delivery::RecipientResult;
using smtp::Outcome;
using spool::QueueId;
using spool::journal::EventType;
using spool::journal::JsonObject;
using spool::journal::MessageFacts;

namespace {

void append_facts(JsonObject& event, const spool::MessageState* state) {
    if (state != nullptr) spool::journal::append_facts(event, state->envelope);
}

// Of the recipient with this number, if there is one.
void append_recipient(JsonObject& event, const spool::MessageState& state, std::uint32_t number) {
    if (number >= state.recipients.size()) return;
    const auto& recipient = state.recipients[number];
    const auto& envelope = state.envelope_of(recipient);
    const auto& original = envelope.original.empty() ? envelope.address : envelope.original;
    event.text("recipient", recipient.address);
    if (original != recipient.address) event.text("original_recipient", original);
}

// What the file has of the last attempt for the recipient.
void append_last_attempt(JsonObject& event, const spool::RecipientState& recipient) {
    event.number("attempt", recipient.tries);
    event.number("code", recipient.reply.code);
    event.text("status", recipient.reply.status);
    event.text("text", recipient.reply.text, spool::journal::longest_text);
    if (recipient.status == spool::Status::delivered) return;
    const decide::Observation seen{.code = recipient.reply.code, .status = recipient.reply.status};
    event.word("class",
               name_of(recipient.tries == 0 && recipient.status == spool::Status::expired ? decide::ReplyClass::expired
                                                                                          : decide::class_of(seen)));
}

void append_expansion(JsonObject& event, const std::vector<std::string>& into) {
    event.texts("recipients", into | std::views::take(spool::journal::most_recipients));
    event.number("recipients_total", into.size());
}

// What a recipient was expanded into.
std::vector<std::string> addresses_from(const spool::MessageState& state, std::uint32_t number) {
    std::vector<std::string> into;
    for (std::uint32_t n = 0; n < state.recipients.size(); ++n)
        if (n != number && state.recipients[n].origin == number) into.push_back(state.recipients[n].address);
    return into;
}

// The event of an end; nothing: an operator's removal is one of the whole message.
std::optional<EventType> event_of(RecipientEnd end) {
    switch (end) {
    case RecipientEnd::delivered: return EventType::message_delivered;
    case RecipientEnd::failed: return EventType::message_failed;
    case RecipientEnd::expired: return EventType::message_expired;
    case RecipientEnd::suppressed: return EventType::message_suppressed;
    case RecipientEnd::discarded: return EventType::message_discarded;
    case RecipientEnd::expanded: return EventType::message_expanded;
    case RecipientEnd::removed: return {};
    }
    return {};
}

// When a recipient came to its end, as far as the file tells, or a little earlier: with its last attempt, at the
// message's expiry, or soon after it was accepted.
smtp::WallTime time_of_end(QueueId id, const spool::MessageState& state, const spool::RecipientState& recipient) {
    const auto begun = std::max(spool::time_of(id), spool::schedule_end(state));
    if (recipient.status == spool::Status::expired)
        return std::max(recipient.last_attempt, state.expiry.value_or(begun + std::chrono::seconds(state.lifetime)));
    return std::max(recipient.last_attempt, begun);
}

// Of the result that was the last one.
spool::Waited waited_of_report(const Done& report) {
    return report.results.empty() ? spool::Waited{} : waited_of(report, report.results.back());
}

// Whose decision a failure is.
std::string_view author_of(const smtp::RemoteReply& reply) {
    if (reply.code != 0) return "remote";
    if (reply.status.ends_with(".4.6")) return "loop";
    if (reply.stage == smtp::Stage::lookup || !reply.at.empty()) return "dns";
    return "local";
}

void append_counts(JsonObject& event, const OutcomeCounts& ends) {
    event.object("counts", [&](JsonObject& counts) {
        for (std::size_t n = 0; n < ends.size(); ++n) counts.number(name_of(static_cast<RecipientEnd>(n)), ends[n]);
    });
}

// What it was when another node sent it: that node's journal has the ends that its recipients had come to. Nothing: it
// was accepted here.
std::optional<spool::MessageState> state_brought(const spool::MessageState& state) {
    if (!state.envelope.transferred) return {};
    return spool::MessageState(state.envelope);
}

bool ended_elsewhere(const std::optional<spool::MessageState>& brought, std::uint32_t number) {
    return brought && number < brought->recipients.size() &&
           brought->recipients[number].status != spool::Status::pending;
}

} // namespace

template <class Fill> void MessageEvents::add(EventType type, QueueId id, Fill&& fill) {
    journal_.add(type, [&](JsonObject& event) {
        event.word("id", id.text());
        fill(event);
    });
}

// The message stays until it has been read, or cannot be: its removal waits for readings.
void MessageEvents::with_file(QueueId id, spool::Location location, Read then) {
    const auto shared = std::make_shared<Read>(std::move(then));
    loader_.read(
        id, location, [shared](const spool::MessageState& state, std::uint64_t) { (*shared)(&state); },
        [shared](const MessageLoader::Failure&) { (*shared)(nullptr); });
}

// ---- acceptance ----

void MessageEvents::accepted(QueueId id, const spool::MessageState& state, std::uint64_t size) {
    if (state.envelope.transferred && journal_.enabled()) ends_.restore(id, state);
    accepted(id, state, size, false);
}

void MessageEvents::accepted(QueueId id, const spool::MessageState& state, std::uint64_t size, bool again) {
    add(EventType::message_accepted, id, [&](JsonObject& event) {
        event.flag("again", again);
        spool::journal::append_facts(event, state.envelope);
        spool::journal::append_acceptance(event, state.envelope, size);
    });
    if (!state.envelope.transferred) return;
    add(EventType::message_transferred_in, id, [&](JsonObject& event) {
        spool::journal::append_facts(event, state.envelope);
        event.object("transfer", [&](JsonObject& its) {
            its.text("node", state.envelope.transferred->node);
            its.word("id", state.envelope.transferred->id.text());
        });
        append_counts(event, counts_of(spool::MessageState(state.envelope)));
    });
}

void MessageEvents::found(QueueId id, spool::Location location, const spool::MessageState& state, std::uint64_t size) {
    if (!journal_.enabled()) return;
    ends_.restore(id, state);
    record_what_was_lost(id, location, state, size);
}

// Where its acceptance was lost, so were the ends that it came to since.
void MessageEvents::record_what_was_lost(QueueId id, spool::Location location, const spool::MessageState& state,
                                         std::uint64_t size) {
    const auto& tail = journal_.tail();
    if (tail.finished.contains(id)) return; // only its file's removal was lost
    const bool recent = location == spool::Location::incoming || tail.covers(spool::time_of(id));
    const bool again = recent && !tail.accepted.contains(id);
    if (again) accepted(id, state, size, true);
    const auto brought = state_brought(state);
    for (std::uint32_t number = 0; number < state.recipients.size(); ++number) {
        const auto& recipient = state.recipients[number];
        const auto end = OutcomeCounters::end_of(recipient);
        const bool covered = again || (end && tail.covers(time_of_end(id, state, recipient)));
        if (end && covered && !ended_elsewhere(brought, number) && !journal_.has_end(id, recipient.address))
            ended_again(id, state, number, *end);
    }
}

// Of the attempt only what the file has of it.
void MessageEvents::ended_again(QueueId id, const spool::MessageState& state, std::uint32_t number, RecipientEnd end) {
    const auto type = event_of(end);
    if (!type) return;
    add(*type, id, [&](JsonObject& event) {
        event.flag("again", true);
        append_facts(event, &state);
        append_recipient(event, state, number);
        if (end == RecipientEnd::expanded) {
            append_expansion(event, addresses_from(state, number));
            return;
        }
        append_remote(event, state.recipients[number].host);
        append_last_attempt(event, state.recipients[number]);
    });
}

MessageEvents::Result MessageEvents::found_finished(QueueId id, spool::Location location,
                                                    const spool::MessageState& state, std::uint64_t size) {
    if (!journal_.enabled()) return Result::reached;
    ends_.restore(id, state);
    if (!journal_.tail().finished.contains(id)) record_what_was_lost(id, location, state, size);
    return finish(id, spool::journal::facts_of(state.envelope));
}

// What was never accepted has no events; nor has what a crash has left of a finished one.
void MessageEvents::found_damaged(QueueId id, bool incomplete, std::string_view why) {
    const auto& tail = journal_.tail();
    if (tail.finished.contains(id) || (incomplete && !tail.accepted.contains(id))) return;
    removed(id, {}, "queue-manager", why);
}

void MessageEvents::expanded(QueueId id, spool::Location location, std::vector<Expansion> expansions) {
    if (!journal_.enabled() || expansions.empty()) return;
    ends_.add(id, RecipientEnd::expanded, static_cast<std::uint32_t>(expansions.size()));
    with_file(id, location, [this, id, expansions = std::move(expansions)](const spool::MessageState* state) {
        for (const auto& each : expansions)
            add(EventType::message_expanded, id, [&](JsonObject& event) {
                append_facts(event, state);
                event.text("recipient", each.recipient);
                append_expansion(event, each.into);
            });
    });
}

// ---- recipients ----

void MessageEvents::ended(const Done& done) {
    if (!journal_.enabled()) return;
    bool unnamed = false;
    for (const auto& result : done.results) {
        if (result.outcome == Outcome::deferred) continue;
        ends_.add(done.queue_id, result.outcome == Outcome::delivered ? RecipientEnd::delivered : RecipientEnd::failed);
        if (result.address.empty())
            unnamed = true;
        else
            ended(done, result);
    }
    if (!unnamed) return;
    with_file(done.queue_id, spool::Location::messages, [this, done](const spool::MessageState* state) {
        auto named = done;
        if (state != nullptr) named.about = spool::journal::facts_of(state->envelope);
        for (auto& result : named.results) {
            if (result.outcome == Outcome::deferred || !result.address.empty()) continue;
            if (state != nullptr && result.recipient < state->recipients.size())
                result.address = state->recipients[result.recipient].address;
            ended(named, result);
        }
    });
}

void MessageEvents::ended(const Done& done, const RecipientResult& result) {
    // An agent repeats a result to the next queue-manager: the last one may have recorded it.
    const bool repeated = done.connection == 0;
    if (repeated && journal_.has_end(done.queue_id, result.address)) return;
    const bool failed = result.outcome == Outcome::failed;
    add(failed ? EventType::message_failed : EventType::message_delivered, done.queue_id, [&](JsonObject& event) {
        append(event, done.about);
        append_attempt(event, done, result);
        if (failed) append_dialogue(event, done, result.recipient);
        if (failed && result.reply < done.replies.size()) event.word("by", author_of(done.replies[result.reply]));
    });
}

void MessageEvents::deferred(const Done& done, Numbers numbers, smtp::WallTime next_attempt) {
    if (!journal_.enabled()) return;
    std::size_t at = 0; // both are in the same order, mostly
    for (const auto number : numbers) {
        for (std::size_t n = 0; n < done.results.size() && done.results[at].recipient != number; ++n)
            at = (at + 1) % done.results.size();
        if (at >= done.results.size() || done.results[at].recipient != number) continue;
        add(EventType::message_deferred, done.queue_id, [&](JsonObject& event) {
            append(event, done.about);
            append_attempt(event, done, done.results[at]);
            append_dialogue(event, done, number);
            if (next_attempt != smtp::WallTime{}) event.time("next_attempt", next_attempt);
        });
    }
}

void MessageEvents::failed_untried(QueueId id, const spool::MessageState& state, Numbers numbers,
                                   const smtp::RemoteReply& reason) {
    if (!journal_.enabled()) return;
    const auto type = reason.suppressed ? EventType::message_suppressed : EventType::message_failed;
    for (const auto number : numbers) {
        ends_.add(id, reason.suppressed ? RecipientEnd::suppressed : RecipientEnd::failed);
        add(type, id, [&](JsonObject& event) {
            append_facts(event, &state);
            append_recipient(event, state, number);
            reason.suppressed ? append_reply(event, reason) : append_failure(event, reason);
            if (!reason.suppressed) event.word("by", author_of(reason));
        });
    }
}

void MessageEvents::verified(QueueId id, const spool::MessageState& state, Numbers numbers,
                             const smtp::RemoteReply& how) {
    if (!journal_.enabled()) return;
    ends_.add(id, RecipientEnd::discarded, static_cast<std::uint32_t>(numbers.size()));
    for (const auto number : numbers)
        add(EventType::message_discarded, id, [&](JsonObject& event) {
            append_facts(event, &state);
            append_recipient(event, state, number);
            append_reply(event, how);
        });
}

void MessageEvents::discarded(QueueId id, spool::Location location, std::vector<Discarded> recipients) {
    if (!journal_.enabled() || recipients.empty()) return;
    ends_.add(id, RecipientEnd::discarded, static_cast<std::uint32_t>(recipients.size()));
    with_file(id, location, [this, id, recipients = std::move(recipients)](const spool::MessageState* state) {
        for (const auto& each : recipients)
            add(EventType::message_discarded, id, [&](JsonObject& event) {
                append_facts(event, state);
                event.text("recipient", each.recipient);
                if (each.original != each.recipient) event.text("original_recipient", each.original);
                event.text("status", each.status);
                event.text("text", each.text, spool::journal::longest_text);
            });
    });
}

void MessageEvents::expiring(QueueId id, const decide::queue::GateWaits& waits) {
    if (!journal_.enabled() || waits == decide::queue::GateWaits{}) return;
    auto& longest = expiring_[id];
    longest.pause = std::max(longest.pause, waits.pause);
    longest.link = std::max(longest.link, waits.link);
}

// Of the recipient that was tried last.
spool::Waited MessageEvents::waited_of_last(QueueId id, const spool::MessageState& state) const {
    const auto last = std::ranges::max_element(state.recipients, {}, &spool::RecipientState::last_attempt);
    return last == state.recipients.end() ? spool::Waited{} : waited(id, state, *last);
}

spool::Waited MessageEvents::waited(QueueId id, const spool::MessageState& state,
                                    const spool::RecipientState& recipient) const {
    auto waited = spool::waited_until(state, recipient, spool::time_of(id), common::Loop::now().wall);
    if (const auto known = expiring_.find(id); known != expiring_.end()) {
        waited.pause += known->second.pause;
        waited.link += known->second.link;
    }
    return waited;
}

void MessageEvents::expired(QueueId id, Numbers numbers) {
    if (!journal_.enabled()) return;
    ends_.add(id, RecipientEnd::expired, static_cast<std::uint32_t>(numbers.size()));
    with_file(id, spool::Location::messages,
              [this, id, numbers = std::vector(numbers.begin(), numbers.end())](const spool::MessageState* state) {
                  for (const auto number : numbers)
                      add(EventType::message_expired, id, [&](JsonObject& event) {
                          append_facts(event, state);
                          if (state == nullptr || number >= state->recipients.size()) return;
                          append_recipient(event, *state, number);
                          append_last_attempt(event, state->recipients[number]);
                          append_waited(event, waited(id, *state, state->recipients[number]));
                      });
              });
}

void MessageEvents::reported(QueueId id, Numbers numbers, QueueId report) {
    if (!journal_.enabled() || !report.valid()) return;
    with_file(
        id, spool::Location::messages,
        [this, id, report, numbers = std::vector(numbers.begin(), numbers.end())](const spool::MessageState* state) {
            for (const auto number : numbers)
                add(EventType::report_sent, id, [&](JsonObject& event) {
                    append_facts(event, state);
                    if (state != nullptr) append_recipient(event, *state, number);
                    event.object("report", [&](JsonObject& its) { its.word("id", report.text()); });
                });
        });
}

// ---- the message ----

void MessageEvents::finished(QueueId id, spool::Location location, const Done* report, Finished then) {
    if (!journal_.enabled())
        return loader_.when_read(id, [then = std::move(then)]() mutable { then(Result::reached); });
    if (report != nullptr && report->about.known) {
        if (!loader_.reading(id)) return then(finish(id, report->about, waited_of_report(*report)));
        return loader_.when_read(id, [this, id, about = report->about, waited = waited_of_report(*report),
                                      then = std::move(then)]() mutable { then(finish(id, about, waited)); });
    }
    with_file(id, location, [this, id, then = std::move(then)](const spool::MessageState* state) mutable {
        const auto result = state != nullptr
                                ? finish(id, spool::journal::facts_of(state->envelope), waited_of_last(id, *state))
                                : finish(id, MessageFacts{});
        loader_.when_read(id, [result, then = std::move(then)]() mutable { then(result); });
    });
}

MessageEvents::Result MessageEvents::finish(QueueId id, const MessageFacts& about, const spool::Waited& waited) {
    const auto ends = ends_.take(id);
    expiring_.erase(id);
    const auto count = [&](RecipientEnd end) { return ends[static_cast<std::size_t>(end)]; };
    const bool failed = count(RecipientEnd::failed) + count(RecipientEnd::expired) > 0;
    const bool has_sender = !about.known || !about.sender.empty();
    const auto result = failed && has_sender ? Result::not_reached : Result::reached;
    if (journal_.tail().finished.contains(id)) return result; // before a crash, and before its file was removed
    add(EventType::message_finished, id, [&](JsonObject& event) {
        append(event, about);
        append_counts(event, ends);
        event.seconds("total", common::Loop::now().wall - spool::time_of(id));
        append_waited(event, waited);
    });
    return result;
}

void MessageEvents::removed(QueueId id, const MessageFacts& about, std::string_view who, std::string_view why) {
    ends_.take(id);
    expiring_.erase(id);
    changed(EventType::message_removed, id, about, who, why);
}

void MessageEvents::transferred_out(QueueId id, const MessageFacts& about, const spool::Transferring& how,
                                    std::string_view its_id) {
    ends_.take(id);
    expiring_.erase(id);
    add(EventType::message_transferred_out, id, [&](JsonObject& event) {
        append(event, about);
        event.object("transfer", [&](JsonObject& its) {
            its.text("node", how.node);
            its.word("id", its_id);
        });
        event.text("who", how.who);
        event.text("why", how.why, spool::journal::longest_text);
    });
}

void MessageEvents::changed(EventType type, QueueId id, const MessageFacts& about, std::string_view who,
                            std::string_view why, std::string_view name, std::string_view what) {
    add(type, id, [&](JsonObject& event) {
        auto facts = about;
        if (name == "lane") facts.lane.clear(); // the new one follows
        append(event, facts);
        if (!name.empty()) event.text(name, what);
        event.text("who", who);
        event.text("why", why, spool::journal::longest_text);
    });
}

} // namespace queue_manager

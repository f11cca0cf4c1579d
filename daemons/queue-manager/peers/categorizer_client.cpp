#include "daemons/queue-manager/peers/categorizer_client.h"
#include "daemons/common/config/config.h"
#include "daemons/common/expansion/expansion_settings.h"
#include "daemons/common/ipc/parts.h"
#include "daemons/common/runtime/crash_point.h"
#include "daemons/queue-manager/conversion/content_filter.h"
#include "daemons/queue-manager/conversion/soft_bounce.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace queue_manager {

namespace {

// Of the recipients asked about, those that become others.
std::vector<MessageEvents::Expansion> expansions_of(const CategorizationInput& subject,
                                                    const std::vector<spool::Property>& records) {
    std::vector<MessageEvents::Expansion> out;
    for (const auto& record : records) {
        const auto* expanded = std::get_if<spool::Expanded>(&record);
        if (expanded == nullptr) continue;
        std::map<std::uint32_t, std::vector<std::string>> by_origin;
        for (const auto& added : expanded->added) by_origin[added.origin].push_back(added.address);
        for (const auto& asked : subject.open)
            if (const auto into = by_origin.find(asked.number); into != by_origin.end())
                out.push_back({asked.address, std::move(into->second)});
    }
    return out;
}

} // namespace

CategorizerClient::CategorizerClient(const Dependencies& dependencies)
    : deps_(dependencies), immediate_(common::expansion_settings(*deps_.config)),
      service_(deps_.loop, {[this] { up(); }, [this] { down(); },
                            [this](proto::categorize::Message&& message) {
                                auto* answer = std::get_if<proto::categorize::Categorized>(&message);
                                if (answer == nullptr) return;
                                if (const auto whole = parts_.add(std::move(*answer))) answered(*whole);
                            }}) {}

void CategorizerClient::configured() { immediate_ = ImmediateExpansion(common::expansion_settings(*deps_.config)); }

void CategorizerClient::up() {
    send(proto::categorize::Suppressions{deps_.any_suppressions()});
    deps_.driver.tell([](auto& engine, smtp::Now now, auto& out) {
        engine.service(decide::queue::Service::categorizer, decide::queue::Presence::up, now, out);
    });
}

void CategorizerClient::down() {
    last_.clear();
    questions_.clear();
    parts_.forget();
    deps_.route_query.lost("categorizer");
    deps_.driver.tell([](auto& engine, smtp::Now now, auto& out) {
        engine.service(decide::queue::Service::categorizer, decide::queue::Presence::down, now, out);
    });
}

// ---- questions ----

CategorizationInput CategorizerClient::input_of(const spool::MessageState& state, std::uint64_t size,
                                                std::span<const std::uint32_t> numbers) const {
    const auto& config = *deps_.config;
    const auto filter = content_filter_of(state.envelope, config.listeners, config.submit);
    if (spool::chosen_filter(state.envelope).empty()) deps_.filters.add(filter);
    return CategorizationInput::of(
        state, size, config.queue.recategorize_on_start, numbers,
        config.local.delivery.mailbox_command.empty() ? Mailboxes::files : Mailboxes::commands, filter);
}

bool CategorizerClient::is_last(spool::QueueId id, Serial serial) const {
    const auto at = last_.find(id);
    return at != last_.end() && at->second == serial;
}

void CategorizerClient::ask(spool::QueueId id, std::span<const std::uint32_t> numbers, const EventContext& context) {
    if (const auto writing = being_written_.find(id); writing != being_written_.end()) {
        writing->second.emplace(numbers.begin(), numbers.end());
        return;
    }
    const auto serial = last_[id] = ++serials_;
    if (const auto* accepted = context.accepted; accepted != nullptr && accepted->id == id) {
        Question question{serial, input_of(accepted->state, accepted->size, numbers)};
        if (accepted->submitted && answer_at_once(id, question)) return;
        return put(id, std::move(question));
    }
    deps_.loader.read(
        id, spool::Location::messages,
        [this, id, serial, numbers = std::vector(numbers.begin(), numbers.end())](const spool::MessageState& state,
                                                                                  std::uint64_t size) {
            if (is_last(id, serial)) put(id, {serial, input_of(state, size, numbers)});
        },
        [this, id, serial](const MessageLoader::Failure& failure) {
            if (is_last(id, serial)) unreadable(id, failure);
        });
}

// Only of a message that was submitted just now: what comes from the spool may be asked about already, have been
// delivered by an agent whose result is still to come, or be what the queue-manager has crashed on.
bool CategorizerClient::answer_at_once(spool::QueueId id, Question& question) {
    using List = ImmediateExpansion::SuppressionList;
    if (question.subject.open.empty()) return false;
    auto known = immediate_.of(question.subject, deps_.any_suppressions() ? List::has_entries : List::empty);
    if (!known) return false;
    deps_.driver.later([this, id, question = std::move(question), known = *std::move(known)]() mutable {
        answered(id, std::move(question), known);
    });
    return true;
}

void CategorizerClient::put(spool::QueueId id, Question question) {
    auto& subject = question.subject;
    if (subject.open.empty()) { // the file itself knows
        deps_.undelivered.add(id, subject.settled);
        return deps_.driver.later([this, id, question = std::move(question)] {
            if (!is_last(id, question.serial)) return;
            last_.erase(id);
            const auto& known = question.subject;
            settle(id, {.records = {}, .recipients = known.settled, .discarded = known.discarded, .told = {}}, known);
        });
    }
    using Parts = ipc::PartSplitter<proto::categorize::Categorize, &proto::categorize::Categorize::recipients>;
    using Part = Service<proto::categorize::Message>::Part;
    proto::categorize::Categorize asked{.request = id.value,
                                        .queue_id = id,
                                        .reverse_path = subject.reverse_path,
                                        .pool = subject.pool,
                                        .lane = subject.lane,
                                        .recipients = subject.open,
                                        .reused_file = deps_.files.where(id, spool::Location::incoming).reused.value};
    questions_.insert_or_assign(id, std::move(question));
    service_.ask_in_parts(id.value, [this, id, parts = Parts(std::move(asked))]() mutable {
        if (service_.ask(parts.next()) == ipc::SendResult::too_long) {
            questions_.erase(id);
            failed(id, "one of its addresses, or its sender's, is too long for the categorizer");
            return Part::last;
        }
        return parts.more() ? Part::more : Part::last;
    });
}

void CategorizerClient::unreadable(spool::QueueId id, const MessageLoader::Failure& failure) {
    using How = MessageLoader::Failure::How;
    if (failure.how == How::failed) return failed(id, fmt::format("its file cannot be read: {}", failure.why));
    last_.erase(id);
    if (!deps_.driver.engine().message(id, common::Loop::now())) return; // finished or removed meanwhile
    if (failure.how == How::damaged)
        deps_.files.quarantine(id, "found damaged when its recipients were to be determined: " + failure.why);
    else
        deps_.log.critical("{}: its file no longer exists: dropped from the queue", id.text());
    deps_.driver.tell([&](auto& engine, smtp::Now now, auto& out) { engine.forget(id, now, out); });
}

// The question could not be put, or was not answered: the message waits, and the reason is shown; others do
// not wait.
void CategorizerClient::failed(spool::QueueId id, std::string why) {
    last_.erase(id);
    deps_.log.warning("{}: its recipients could not be determined yet: {}", id.text(), why);
    deps_.driver.later([this, id, why = std::move(why)] {
        deps_.driver.tell([&](auto& engine, smtp::Now now, auto& out) {
            engine.categorization_failed(id, {"4.3.0", why, {}, {}}, now, out);
        });
    });
}

// ---- answers ----

void CategorizerClient::answered(const proto::categorize::Categorized& answer) {
    if (deps_.route_query.answered(answer)) return;
    const spool::QueueId id{answer.request};
    auto question = questions_.extract(id);
    if (question) answered(id, std::move(question.mapped()), answer); // else forgotten meanwhile
}

void CategorizerClient::answered(spool::QueueId id, Question question, const proto::categorize::Categorized& answer) {
    if (!is_last(id, question.serial)) return; // the file is being read for the next one
    auto asked = std::move(question.subject);
    const bool soft = deps_.config->bounce.soft_bounce;
    auto judgement = judge(asked, soft ? softened(answer) : answer, common::Loop::now().wall);
    if (!judgement)
        return failed(id,
                      answer.refused.empty() ? "the categorizer's answer does not match the request" : answer.refused);
    last_.erase(id);
    // Recipients from an expansion are in the file only when that is written.
    if (judgement->records.empty()) {
        deps_.undelivered.add(id, judgement->recipients);
        return settle(id, *judgement, asked);
    }
    // An expansion is durable before its first attempt: a changed alias file must not be found after a crash.
    CRASH_POINT("queue-manager.expanded");
    auto records = std::exchange(judgement->records, {});
    const auto unchanged = std::exchange(judgement->unchanged, {});
    const auto sync = judgement->expanded ? spool::Sync::yes : spool::Sync::no;
    auto expansions = expansions_of(asked, records);
    being_written_.try_emplace(id);
    deps_.files.record_categorization(id, std::move(records), unchanged, sync,
                                      [this, id, judgement = *std::move(judgement), asked = std::move(asked),
                                       expansions = std::move(expansions)](spool::Result<> written) mutable {
                                          const auto again = std::move(being_written_.extract(id).mapped());
                                          if (!written)
                                              return failed(
                                                  id, fmt::format("cannot be recorded: {}", written.error().what));
                                          deps_.events.expanded(id, spool::Location::incoming, std::move(expansions));
                                          if (again && !std::ranges::is_permutation(*again, asked.asked))
                                              return ask(id, *again, {});
                                          deps_.undelivered.add(id, judgement.recipients);
                                          settle(id, judgement, asked);
                                      });
}

void CategorizerClient::settle(spool::QueueId id, const Judgement& judgement, const CategorizationInput& subject) {
    const auto final = final_recipients(judgement.recipients, subject.rerouted_to);
    deps_.files.record_later(id, judgement.unchanged);
    const EventContext::Categorization categorization{subject, judgement};
    deps_.driver.tell(
        [&](auto& engine, smtp::Now now, auto& out) { engine.categorized({id, final, judgement.told}, now, out); },
        {.categorization = &categorization});
}

} // namespace queue_manager

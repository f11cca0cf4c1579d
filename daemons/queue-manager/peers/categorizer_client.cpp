#include "daemons/queue-manager/peers/categorizer_client.h"
#include "daemons/common/config/config.h"
#include "daemons/common/expansion/expansion_settings.h"
#include "daemons/common/ipc/parts.h"
#include "daemons/common/runtime/crash_point.h"
#include "daemons/queue-manager/conversion/content_filter.h"
#include "daemons/queue-manager/conversion/soft_bounce.h"
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
    subjects_.clear();
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

void CategorizerClient::ask(spool::QueueId id, std::span<const std::uint32_t> numbers, const EventContext& context) {
    if (const auto* accepted = context.accepted; accepted != nullptr && accepted->id == id) {
        auto subject = input_of(accepted->state, accepted->size, numbers);
        if (accepted->submitted && answer_at_once(id, subject)) return;
        return put(id, std::move(subject));
    }
    deps_.loader.read(
        id, spool::Location::messages,
        [this, id, numbers = std::vector(numbers.begin(), numbers.end())](
            const spool::MessageState& state, std::uint64_t size) { put(id, input_of(state, size, numbers)); },
        [this, id](const MessageLoader::Failure& failure) { unreadable(id, failure); });
}

// Only of a message that was submitted just now: what comes from the spool may be asked about already, have been
// delivered by an agent whose result is still to come, or be what the queue-manager has crashed on.
bool CategorizerClient::answer_at_once(spool::QueueId id, CategorizationInput& subject) {
    using List = ImmediateExpansion::SuppressionList;
    if (subject.open.empty()) return false;
    auto known = immediate_.of(subject, deps_.any_suppressions() ? List::has_entries : List::empty);
    if (!known) return false;
    deps_.driver.later([this, id, subject = std::move(subject), known = *std::move(known)]() mutable {
        answered(id, std::move(subject), known);
    });
    return true;
}

void CategorizerClient::put(spool::QueueId id, CategorizationInput subject) {
    if (subject.open.empty()) { // the file itself knows
        deps_.undelivered.add(id, subject.settled);
        return deps_.driver.later([this, id, subject = std::move(subject)] {
            settle(id, {.records = {}, .recipients = subject.settled, .discarded = subject.discarded, .told = {}},
                   subject);
        });
    }
    using Parts = ipc::PartSplitter<proto::categorize::Categorize, &proto::categorize::Categorize::recipients>;
    using Part = Service<proto::categorize::Message>::Part;
    proto::categorize::Categorize question{.request = id.value,
                                           .queue_id = id,
                                           .reverse_path = subject.reverse_path,
                                           .pool = subject.pool,
                                           .lane = subject.lane,
                                           .recipients = subject.open,
                                           .reused_file =
                                               deps_.files.where(id, spool::Location::incoming).reused.value};
    subjects_.insert_or_assign(id, std::move(subject));
    service_.ask_in_parts(id.value, [this, id, parts = Parts(std::move(question))]() mutable {
        if (service_.ask(parts.next()) == ipc::SendResult::too_long) {
            subjects_.erase(id);
            failed(id, "one of its addresses, or its sender's, is too long for the categorizer");
            return Part::last;
        }
        return parts.more() ? Part::more : Part::last;
    });
}

void CategorizerClient::unreadable(spool::QueueId id, const MessageLoader::Failure& failure) {
    using How = MessageLoader::Failure::How;
    if (failure.how == How::failed) return failed(id, fmt::format("its file cannot be read: {}", failure.why));
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
    auto subject = subjects_.extract(id);
    if (subject) answered(id, std::move(subject.mapped()), answer); // else forgotten meanwhile
}

void CategorizerClient::answered(spool::QueueId id, CategorizationInput asked,
                                 const proto::categorize::Categorized& answer) {
    const bool soft = deps_.config->bounce.soft_bounce;
    auto judgement = judge(asked, soft ? softened(answer) : answer, common::Loop::now().wall);
    if (!judgement)
        return failed(id,
                      answer.refused.empty() ? "the categorizer's answer does not match the request" : answer.refused);
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
    deps_.files.record_categorization(id, std::move(records), unchanged, sync,
                                      [this, id, judgement = *std::move(judgement), asked = std::move(asked),
                                       expansions = std::move(expansions)](spool::Result<> written) mutable {
                                          if (!written)
                                              return failed(
                                                  id, fmt::format("cannot be recorded: {}", written.error().what));
                                          deps_.events.expanded(id, spool::Location::incoming, std::move(expansions));
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

#include "daemons/queue-manager/events/system_events.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/queue-manager/events/attempt_members.h"
#include "libspool/journal/message_facts.h"
#include <fmt/format.h>
#include <string>

namespace queue_manager {

using spool::journal::EventType;
using spool::journal::JsonObject;
using spool::journal::longest_text;

void SystemEvents::changed(std::string_view type, std::string_view name, std::string_view who, std::string_view why,
                           std::uint64_t count) {
    recent_.add({.time = common::Loop::now().wall,
                 .type = std::string(type),
                 .name = std::string(name),
                 .who = std::string(who),
                 .why = std::string(why.substr(0, longest_text)),
                 .count = count});
}

// Mail waits: once for each change of the state.
template <class Notice> void SystemEvents::waiting(std::string_view what, std::string_view name, const Notice& notice) {
    if (!notice.changed || notice.health == decide::queue::Health::ready || journal_.congested()) return;
    journal_.add(EventType::message_waiting, [&](JsonObject& event) {
        event.text(what, name);
        event.word("state", word_of(notice.health));
        event.number("deliveries", notice.due);
        event.number("failures", notice.failures);
        event.time("next_attempt", notice.next_attempt);
        if (notice.reason != nullptr) append_failure(event, *notice.reason);
    });
}

void SystemEvents::queue(const decide::queue::NoticeQueue& notice) { waiting("queue", notice.queue, notice); }

void SystemEvents::link(const decide::queue::NoticeLink& notice) {
    const bool ready = notice.health == decide::queue::Health::ready;
    if (notice.changed || ready)
        changed(ready ? "link.recovered" : "link.failed", notice.link, {},
                notice.reason != nullptr ? std::string_view(notice.reason->text) : std::string_view());
    journal_.add(ready ? EventType::link_recovered : EventType::link_failed, [&](JsonObject& event) {
        event.text("link", notice.link);
        if (ready) return;
        event.word("state", word_of(notice.health));
        event.number("failures", notice.failures);
        event.time("next_attempt", notice.next_attempt);
        if (notice.reason != nullptr) append_failure(event, *notice.reason);
    });
    waiting("link", notice.link, notice);
}

void SystemEvents::link(const decide::queue::LinkState& state) {
    changed(state.down ? "link.down" : "link.up", state.link);
    journal_.add(state.down ? EventType::link_down : EventType::link_up,
                 [&](JsonObject& event) { event.text("link", state.link); });
}

void SystemEvents::routes_reset(const decide::queue::NoticeReset& notice) {
    changed("routes.reset", {});
    journal_.add(EventType::routes_reset, [&](JsonObject& event) {
        event.number_even_if_zero("queues", notice.queues);
        event.number_even_if_zero("moved", notice.moved);
    });
}

void SystemEvents::pause(Change change, std::string_view scope, std::string_view name, std::string_view who,
                         std::string_view why) {
    changed(change == Change::set ? "pause.set" : "pause.cleared",
            name.empty() ? std::string(scope) : fmt::format("{} {}", scope, name), who, why);
    journal_.add(change == Change::set ? EventType::pause_set : EventType::pause_cleared, [&](JsonObject& event) {
        event.text("scope", scope);
        event.text("name", name);
        event.text("who", who);
        event.text("why", why, longest_text);
    });
}

void SystemEvents::suppression(Change change, std::span<const decide::Suppression> entries) {
    if (!entries.empty())
        changed(change == Change::set ? "suppression.added" : "suppression.removed", {}, {}, {}, entries.size());
    for (const auto& each : entries)
        journal_.add(change == Change::set ? EventType::suppression_added : EventType::suppression_removed,
                     [&](JsonObject& event) {
                         event.text("recipient", each.recipient);
                         event.text("for_sender", each.scope.sender);
                         event.text("for_pool", each.scope.pool);
                         event.text("for_lane", each.scope.lane);
                         event.text("who", each.who);
                         event.text("why", each.reason, longest_text);
                         event.text("text", each.reply, longest_text);
                     });
}

void SystemEvents::reloaded() {
    changed("config.reloaded", {});
    journal_.add(EventType::config_reloaded, [](JsonObject&) {});
}

} // namespace queue_manager

#include "daemons/queue-manager/events/door_events.h"
#include "libspool/journal/message_facts.h"
#include <utility>

namespace queue_manager {

using proto::submission::DoorEvent;
using proto::submission::DoorEventsLost;
using spool::journal::EventType;
using spool::journal::JsonObject;
using spool::journal::longest_text;

namespace {

EventType type_of(DoorEvent::Kind kind) {
    switch (kind) {
    case DoorEvent::Kind::rejected: return EventType::session_rejected;
    case DoorEvent::Kind::auth_failed: return EventType::auth_failed;
    case DoorEvent::Kind::limit_hit: return EventType::limit_hit;
    case DoorEvent::Kind::milter_rejected: return EventType::milter_rejected;
    case DoorEvent::Kind::duplicate: break;
    }
    return EventType::message_duplicate;
}

} // namespace

void DoorEvents::record(const DoorEvent& from) {
    const bool duplicate = from.kind == DoorEvent::Kind::duplicate;
    const bool congested = journal_.congested();
    if (congested && !duplicate) {
        ++lost_;
        return;
    }
    if (!congested && lost_ > 0)
        record_gap(std::exchange(lost_, 0), "clients caused more events than the journal could take");
    journal_.add(type_of(from.kind), [&](JsonObject& event) {
        const auto text = [&](std::string_view name, std::string_view value) { event.text(name, value, longest_text); };
        text("id", from.first); // of a message that there is
        text("log_id", from.id);
        if (duplicate)
            event.text_even_if_empty("sender", from.sender);
        else
            text("sender", from.sender);
        text("recipient", from.recipient);
        text("listener", from.listener);
        event.object("client", [&](JsonObject& client) {
            client.text("name", from.client_name, longest_text);
            client.text("address", from.client_address, longest_text);
        });
        text("helo", from.helo);
        text("protocol", from.protocol);
        event.object("auth", [&](JsonObject& auth) {
            auth.text("user", from.user, longest_text);
            auth.text("mechanism", from.mechanism, longest_text);
        });
        text("stage", from.stage);
        event.number("code", from.code);
        text("status", from.status);
        text("text", from.text);
        text(from.kind == DoorEvent::Kind::limit_hit ? "limit" : "rule", from.rule);
        text("idempotency_key", from.key);
        event.number("sampled", from.sampled);
    });
}

void DoorEvents::record(const DoorEventsLost& from) {
    if (from.sampled > 0) record_gap(from.sampled, "clients caused more events than history.door_events_per_second");
    if (from.lost > 0) record_gap(from.lost, "the queue-manager was not reachable");
}

void DoorEvents::record_gap(std::uint64_t count, std::string_view why) {
    journal_.add(EventType::journal_gap, [&](JsonObject& event) {
        event.number("count", count);
        event.word("why", why);
    });
}

} // namespace queue_manager

// Deliveries that come back from their agent: those that wait behind a transaction which does not move, and those that are
// not to be delivered any more.
#include "daemons/decide/queue/core.h"
#include <algorithm>

namespace decide::queue {

namespace {
constexpr auto cancel_after = std::chrono::minutes(10); // in flight for so long, and expired
}

// Nothing was completed on a connection for twice the time in which all that waits should be gone: what was handed to it
// ahead of its turn is wanted back, for other connections.
void Core::recall_stalled(Slot link) {
    Link& l = links_[link];
    if (l.kind != AgentKind::smtp) return;
    for (Slot slot = l.connections.head; slot != none; slot = connections_[slot].next) {
        Connection& c = connections_[slot];
        if (c.state != ConnectionState::up || c.stalled || c.deliveries.count < 2) continue;
        const smtp::Monotonic at = c.last_done + 2 * settings_.drain_target;
        if (now_.monotonic < at) {
            link_timers_.bring_forward(link, at);
            continue;
        }
        c.stalled = true;
        emit(Recall{c.agent, id_of(slot)});
    }
}

void Core::returned(const Returned& event) {
    const Slot slot = connection_of(event.connection);
    if (slot == none) return;
    const Slot link = connections_[slot].link;
    for (auto id = event.deliveries.rbegin(); id != event.deliveries.rend(); ++id) { // the first is in front again
        const Slot delivery = active_delivery(*id);
        if (delivery == none || deliveries_[delivery].holder != slot) continue;
        --connections_[slot].handed;
        const Slot message = deliveries_[delivery].message;
        const bool expired = deliveries_[delivery].cancelled && expires(messages_[message]) <= wall_seconds();
        remove_from_connection(delivery);
        if (expired && !messages_[message].held) {
            expire(message, entries(delivery), {"4.4.7", "its delivery took too long and was ended", "", ""});
            refresh(deliveries_[delivery].queue);
            free_delivery(delivery);
            finish(message);
        } else {
            return_untried(delivery, End::front);
        }
    }
    idle_or_close(slot);
    schedule(link);
}

// What is in flight is not to be delivered any more; what cannot be stopped comes back as Done.
void Core::cancel(Slot slot) {
    Delivery& d = deliveries_[slot];
    if (d.cancelled || d.state != DeliveryState::active) return;
    const Connection& c = connections_[d.holder];
    if (links_[c.link].kind != AgentKind::smtp) return;
    d.cancelled = true;
    emit(CancelDelivery{c.agent, id_of(d.holder), (std::uint64_t{d.generation} << 32) | slot,
                     spool::QueueId{messages_[d.message].id}});
}

bool Core::cancel(spool::QueueId id) {
    const Slot message = find(id);
    if (message == none) return false;
    for (Slot each = messages_[message].first; each != none; each = deliveries_[each].next_of_message) {
        deliveries_[each].cancelled = false; // asked for again
        cancel(each);
    }
    return messages_[message].active > 0;
}

void Core::cancel_expired(Slot slot) {
    const Delivery& d = deliveries_[slot];
    if (d.state == DeliveryState::active && now_.monotonic - d.due >= cancel_after) cancel(slot);
}

} // namespace decide::queue

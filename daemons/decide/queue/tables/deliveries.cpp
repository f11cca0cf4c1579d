#include "daemons/decide/queue/tables/deliveries.h"
#include <algorithm>

namespace decide::queue {

Slot Deliveries::add(Slot message) {
    const Slot slot = allocate();
    Delivery& d = (*this)[slot];
    Message& m = messages_[message];
    ++d.generation;
    d.message = message;
    d.next_of_message = m.first;
    if (m.first != none) (*this)[m.first].prev_of_message = slot;
    d.since = step_.seconds(step_.now());
    d.due = step_.now();
    m.first = slot;
    return slot;
}

void Deliveries::remove(Slot slot) {
    Delivery& d = (*this)[slot];
    Message& m = messages_[d.message];
    (d.prev_of_message == none ? m.first : (*this)[d.prev_of_message].next_of_message) = d.next_of_message;
    if (d.next_of_message != none) (*this)[d.next_of_message].prev_of_message = d.prev_of_message;
    if (d.count > 1 && !d.all_recipients) lists.release(d.number);
    const std::uint32_t generation = d.generation;
    release(slot);
    (*this)[slot].generation = generation;
}

Slot Deliveries::find(DeliveryId id, DeliveryState state) const {
    const Slot slot = static_cast<Slot>(id);
    if (slot == none || slot > top()) return none;
    const Delivery& d = (*this)[slot];
    const bool known = d.message != none && d.generation == static_cast<std::uint32_t>(id >> 32) && d.state == state;
    return known ? slot : none;
}

Slot Deliveries::categorizing(Slot message) const {
    Slot slot = messages_[message].first;
    while (slot != none && (*this)[slot].state != DeliveryState::categorizing) slot = (*this)[slot].next_of_message;
    return slot;
}

std::vector<Entry> Deliveries::entries(Slot slot) const {
    const Delivery& d = (*this)[slot];
    if (d.all_recipients) {
        std::vector<Entry> all(d.count);
        for (std::uint32_t n = 0; n < d.count; ++n) all[n].number = n;
        return all;
    }
    if (d.count > 1) return lists[d.number];
    return {Entry{d.number, d.failures, d.key}};
}

void Deliveries::set_entries(Slot slot, const std::vector<Entry>& list) {
    Delivery& d = (*this)[slot];
    assert(!list.empty());
    if (d.count > 1 && !d.all_recipients) lists.release(d.number);
    d.all_recipients = false;
    d.count = static_cast<std::uint32_t>(list.size());
    d.failures = 0;
    for (const Entry& each : list) d.failures = std::max(d.failures, each.failures);
    if (list.size() == 1) {
        d.number = list.front().number;
        d.key = list.front().key;
    } else {
        d.number = lists.allocate();
        lists[d.number] = list;
    }
}

Numbers Deliveries::numbers_of(Slot slot) {
    const Delivery& d = (*this)[slot];
    return d.count > 1 ? step_.numbers(entries(slot)) : step_.number(d.number);
}

void Deliveries::apply_restored(Slot message, Slot delivery, std::span<const RestoredRecipient> restored,
                                smtp::WallTime latest) {
    Delivery& d = (*this)[delivery];
    if (d.count == 1) {
        const RestoredRecipient& its = restored.front();
        d.failures = static_cast<std::uint16_t>(std::min(its.failures, 0xffffu));
        d.message_failures = small(its.message_failures);
        d.deaths = small(its.deaths);
        d.problem = its.problem;
        d.suspect = its.suspect;
        return;
    }
    auto& kept = messages_.extras_of(message).restored;
    kept.assign(restored.begin(), restored.end());
    for (RestoredRecipient& each : kept) each.next_attempt = std::min(each.next_attempt, latest);
    std::ranges::sort(kept, {}, &RestoredRecipient::number);
}

RestoredRecipient Deliveries::restored_state(const Message& m, const Delivery& d, RecipientNumber number) const {
    RestoredRecipient out;
    out.number = number;
    if (d.count == 1 && d.number == number) {
        out.failures = d.failures;
        out.message_failures = d.message_failures;
        out.deaths = d.deaths;
        out.problem = d.problem;
        out.suspect = d.suspect;
    } else if (m.extras != none) {
        const auto& kept = messages_.extras[m.extras].restored;
        const auto at = std::ranges::lower_bound(kept, number, {}, &RestoredRecipient::number);
        if (at != kept.end() && at->number == number) out = *at;
    }
    return out;
}

const std::vector<CategorizerDeferral>& Deliveries::undecided(const Delivery& d) const {
    static const std::vector<CategorizerDeferral> nothing;
    const Message& m = messages_[d.message];
    const bool asked_before = d.queue == none && d.round > 0;
    return asked_before && m.extras != none ? messages_.extras[m.extras].undecided : nothing;
}

} // namespace decide::queue

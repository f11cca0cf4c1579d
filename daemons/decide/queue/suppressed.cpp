// Recipients that were put on the suppression list while their mail waited. Who is on it only the driver
// knows; here it is known which deliveries may be concerned: by a number for each address, by their domain.
// They are asked about before their next try, and what waits for its own time at once, so that the sender
// hears of it soon.
#include "daemons/decide/queue/core.h"
#include <algorithm>

namespace decide::queue {

bool Core::is_affected(const SuppressionChanged& event, Slot slot) const {
    const auto is_named = [&](std::uint32_t key) {
        return key == 0 || std::ranges::binary_search(event.keys, key);
    };
    const Delivery& d = deliveries_[slot];
    if (d.count == 1 ? is_named(d.key) : std::ranges::any_of(recipient_lists_[d.number], is_named, &Entry::key))
        return true;
    const auto domain = queues_[d.queue].domain();
    const bool rerouted = domain.find(':') != domain.npos; // or of a store: anybody's domain may be in it
    return rerouted ? !event.domains.empty() : std::ranges::binary_search(event.domains, domain);
}

void Core::suppression_changed(const SuppressionChanged& event) {
    std::vector<std::uint32_t> keys(event.keys.begin(), event.keys.end());
    std::ranges::sort(keys);
    std::vector<std::string_view> domains(event.domains.begin(), event.domains.end());
    std::ranges::sort(domains);
    const SuppressionChanged sorted{keys, domains};
    std::vector<Slot> at_once;
    for (Slot slot = 1; slot <= deliveries_.top(); ++slot) {
        Delivery& d = deliveries_[slot];
        if (d.message == none) continue;
        if (d.queue == none) { // what was asked may have been answered from the list as it was
            d.needs_suppression_check = d.needs_suppression_check || d.state == DeliveryState::categorizing;
            continue;
        }
        if (!is_affected(sorted, slot)) continue;
        d.needs_suppression_check = true;
        const bool due = d.state == DeliveryState::ready || d.state == DeliveryState::isolated;
        const bool waits = d.state == DeliveryState::waiting && !d.scheduled;
        if (due || waits) at_once.push_back(slot);
    }
    for (const Slot slot : at_once) {
        take_out(slot);
        check_suppressions(slot);
    }
}

void Core::check_suppressions(Slot slot) {
    Delivery& d = deliveries_[slot];
    const Message& m = messages_[d.message];
    d.state = DeliveryState::checking;
    d.needs_suppression_check = false; // set again if the list changes before the answer
    ++checking_;
    emit(AskSuppressions{(std::uint64_t{d.generation} << 32) | slot, spool::QueueId{m.id}, m.location,
                         numbers_of(slot)});
}

void Core::suppressions_known(const SuppressionsKnown& event) {
    const Slot slot = static_cast<Slot>(event.delivery);
    if (slot == none || slot > deliveries_.top()) return;
    Delivery& d = deliveries_[slot];
    if (d.message == none || d.generation != static_cast<std::uint32_t>(event.delivery >> 32) ||
        d.state != DeliveryState::checking)
        return; // held, expired or removed meanwhile
    const Slot message = d.message;
    const bool again = d.needs_suppression_check || !event.known;
    take_out(slot);
    d.needs_suppression_check = again;
    std::vector<Entry> rest = entries(slot);
    std::erase_if(rest, [&](const Entry& each) {
        const auto found = std::ranges::find(event.suppressed, each.number, &SuppressionsKnown::Suppressed::number);
        if (found == event.suppressed.end()) return false;
        report(message, ReportKind::failed, each.number, false, found->reason ? *found->reason : Reason{});
        return true;
    });
    if (rest.empty()) {
        free_delivery(slot);
        return finish(message);
    }
    if (rest.size() < d.count) set_entries(slot, rest);
    if (!event.known) {
        d.due = std::max(d.due, after(settings_.categorize_retry));
        leave_incoming(message);
    }
    place(slot, End::back);
    finish(message);
}

} // namespace decide::queue

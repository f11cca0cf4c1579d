#include "daemons/decide/queue/engine/suppression.h"
#include <algorithm>

namespace decide::queue {

bool Suppression::is_affected(const SuppressionChanged& event, Slot slot) const {
    const auto is_named = [&](std::uint32_t key) { return key == 0 || std::ranges::binary_search(event.keys, key); };
    const Delivery& d = deliveries_[slot];
    if (d.count == 1 ? is_named(d.key) : std::ranges::any_of(deliveries_.lists[d.number], is_named, &Entry::key))
        return true;
    const auto domain = queues_[d.queue].domain();
    const bool rerouted = domain.find(':') != domain.npos; // or of a store: anybody's domain may be in it
    return rerouted ? !event.domains.empty() : std::ranges::binary_search(event.domains, domain);
}

void Suppression::changed(const SuppressionChanged& event) {
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
        placement_.take_out(slot);
        placement_.check_suppressions(slot);
    }
}

void Suppression::known(const SuppressionsKnown& event) {
    const Slot slot = deliveries_.find(event.delivery, DeliveryState::checking);
    if (slot == none) return; // held, expired or removed meanwhile
    Delivery& d = deliveries_[slot];
    const Slot message = d.message;
    const bool again = d.needs_suppression_check || !event.known;
    placement_.take_out(slot);
    d.needs_suppression_check = again;
    std::vector<Entry> rest = deliveries_.entries(slot);
    std::erase_if(rest, [&](const Entry& each) {
        const auto found = std::ranges::find(event.suppressed, each.number, &SuppressionsKnown::Suppressed::number);
        if (found == event.suppressed.end()) return false;
        reporter_.report(message, ReportKind::failed, each.number, false, found->reason ? *found->reason : Reason{});
        return true;
    });
    if (rest.empty()) {
        placement_.remove(slot);
        return placement_.finish(message);
    }
    if (rest.size() < d.count) deliveries_.set_entries(slot, rest);
    if (!event.known) {
        d.due = std::max(d.due, step_.after(settings_.categorize_retry));
        ages_.leave_incoming(message);
    }
    placement_.place(slot, End::back);
    placement_.finish(message);
}

} // namespace decide::queue

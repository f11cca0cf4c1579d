#include "daemons/decide/queue/tables/age_watch.h"
#include <algorithm>

namespace decide::queue {

namespace {
constexpr std::uint32_t look_again = 5; // steps: overdue, but to be tried first
}

// A minute keeps the times to watch few; less where the settings' own times are short.
std::uint32_t AgeWatch::sweep_step() const {
    auto shortest = std::min(settings_.expiry, settings_.report_expiry);
    if (settings_.delay_notice.count() > 0) shortest = std::min(shortest, settings_.delay_notice);
    return std::clamp(whole_seconds(shortest / 60), 1u, 60u);
}

std::uint32_t AgeWatch::expires(const Message& m) const {
    if (m.expiry_fixed) return m.expiry;
    const std::uint32_t from = settings_.soft_bounce ? std::max(m.free_from, step_.wall_seconds()) : m.free_from;
    return from + std::min(m.expiry, 0xffffffff - from);
}

void AgeWatch::leave_incoming(Slot slot) {
    Message& m = messages_[slot];
    if (!m.young) return;
    young_.remove(messages_, slot);
    m.young = false;
    m.bucket = 0;
    m.location = spool::Location::messages;
    step_.emit(MoveToMessages{spool::QueueId{m.id}});
    terms_.write_policy(m);
    watch(slot);
}

void AgeWatch::watch(Slot slot) {
    Message& m = messages_[slot];
    if (m.young) return;
    unwatch(slot);
    if (m.held || m.with_earlier_agent) return;
    const std::uint32_t now = step_.wall_seconds(), step = sweep_step();
    std::uint32_t at = expires(m);
    if (owes_delay_notice(m)) {
        const std::uint32_t notice = delay_notice_at(m);
        at = std::min(at, notice > now ? notice : now + look_again * step);
    }
    const bool punctual = m.returned_late || m.notifies_late;
    m.bucket = at > now ? punctual ? at : (at / step + 1) * step : now + look_again * step;
    watched_[m.bucket].push(messages_, slot, End::back);
}

void AgeWatch::unwatch(Slot slot) {
    Message& m = messages_[slot];
    if (m.young) {
        young_.remove(messages_, slot);
        m.young = false;
    } else if (m.bucket != 0) {
        const auto at = watched_.find(m.bucket);
        at->second.remove(messages_, slot);
        if (at->second.empty()) watched_.erase(at);
    }
    m.bucket = 0;
}

void AgeWatch::add_young(Slot message) {
    messages_[message].young = true;
    messages_[message].bucket = step_.seconds(step_.now());
    young_.push(messages_, message, End::back);
}

void AgeWatch::settle() {
    const auto settled = static_cast<Seconds>(std::chrono::ceil<std::chrono::seconds>(settings_.settle_after).count());
    while (!young_.empty() && messages_[young_.head].bucket + settled <= step_.seconds(step_.now()))
        leave_incoming(young_.head);
}

Slot AgeWatch::due() const {
    return !watched_.empty() && watched_.begin()->first <= step_.wall_seconds() ? watched_.begin()->second.head : none;
}

std::optional<smtp::Monotonic> AgeWatch::next() const {
    std::optional<smtp::Monotonic> next;
    if (!young_.empty())
        next = step_.start() + std::chrono::ceil<std::chrono::seconds>(settings_.settle_after) +
               std::chrono::seconds(messages_[young_.head].bucket - 1);
    if (!watched_.empty()) {
        const auto sweep = step_.monotonic_of(smtp::WallTime(std::chrono::seconds(watched_.begin()->first)));
        next = next ? std::min(*next, sweep) : sweep;
    }
    return next;
}

} // namespace decide::queue

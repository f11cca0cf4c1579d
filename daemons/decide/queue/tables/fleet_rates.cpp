#include "daemons/decide/queue/tables/fleet_rates.h"
#include <algorithm>

namespace decide::queue {

namespace {

constexpr unsigned rate_bit = 32, number_bit = 33; // of a question: the slot of the link, which rate, a number

SharedRate rate_of(std::uint64_t question) {
    return (question >> rate_bit & 1) == 0 ? SharedRate::messages : SharedRate::connections;
}

} // namespace

void FleetRates::set_gap(Link& link, SharedRate rate, smtp::Duration gap) {
    auto& lease = link.shared[rate];
    if (gap == smtp::Duration::zero()) {
        if (lease && lease->followed()) --followed_;
        lease.reset();
        return;
    }
    if (!lease) {
        const bool follow = followed_ < most_followed;
        followed_ += follow ? 1 : 0;
        lease = std::make_unique<RateLease>(follow ? RateLease::Followed::yes : RateLease::Followed::no);
    }
    if (!lease->followed() && followed_ < most_followed) { // another one has gone
        ++followed_;
        lease->follow();
    }
    lease->set_gap(gap);
}

void FleetRates::forget(Link& link) {
    for (const SharedRate each : {SharedRate::messages, SharedRate::connections}) set_gap(link, each, {});
}

bool FleetRates::set_state(const FleetPresence& presence) {
    if (presence_ == presence) return false;
    presence_ = presence;
    return true;
}

FleetState FleetRates::state() const {
    FleetState out{.store = presence_ && presence_->store,
                   .nodes = presence_ ? presence_->nodes : 0,
                   .missing = presence_ ? presence_->missing : 0};
    if (out.nodes == 0) out.nodes = std::max(settings_.expected_nodes, 1U);
    if (!presence_) out.hold_until = step_.start() + first_wait;
    return out;
}

void FleetRates::answered(Link& link, const TokensGranted& event) {
    if (auto& lease = link.shared[rate_of(event.answer.number)])
        lease->answered(event.answer, step_.random().fraction(), step_.now());
}

bool FleetRates::may_begin(Slot slot, Link& link, SharedRate rate, std::uint32_t waiting) {
    auto& lease = link.shared[rate];
    if (!lease) return true;
    const auto number =
        (questions_ + 1) << number_bit | std::uint64_t{rate == SharedRate::connections} << rate_bit | slot;
    if (const auto question = lease->question(state(), std::max(waiting, 1U), number, step_.now())) {
        ++questions_;
        step_.emit(AskTokens{question->number, link.name, rate, question->gap, question->count});
    }
    return lease->may_begin(step_.now());
}

smtp::Monotonic FleetRates::opens_at(const Link& link, SharedRate rate) const {
    const auto& lease = link.shared[rate];
    return !lease || lease->may_begin(step_.now()) ? smtp::Monotonic{} : lease->look_at(step_.now());
}

smtp::Monotonic FleetRates::waits_until(const Link& link, SharedRate rate) const {
    const auto& lease = link.shared[rate];
    return lease ? lease->waits_until(step_.now()) : smtp::Monotonic{};
}

bool FleetRates::is_asking(const Link& link) {
    const auto asking = [&](SharedRate rate) { return link.shared[rate] && link.shared[rate]->is_asking(); };
    return asking(SharedRate::messages) || asking(SharedRate::connections);
}

smtp::Monotonic FleetRates::kept_until(const Link& link) {
    smtp::Monotonic until{};
    for (const SharedRate each : {SharedRate::messages, SharedRate::connections})
        if (const auto& lease = link.shared[each]) until = std::max(until, lease->kept_until());
    return until;
}

void FleetRates::take(Link& link, SharedRate rate) {
    if (auto& lease = link.shared[rate]) lease->take(step_.now());
}

} // namespace decide::queue

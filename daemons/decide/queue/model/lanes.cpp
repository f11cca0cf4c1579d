#include "daemons/decide/queue/model/lanes.h"
#include "daemons/decide/queue/model/model.h"

namespace decide::queue {

Flows::Flows(Slab<Delivery>& deliveries) : deliveries_(deliveries), index_(KeyOf{&flows_}) {}

Slot Flows::flow(LaneState& state, std::size_t lane, std::uint64_t key) {
    if (state.turn != none && flows_[state.turn].key == key) return state.turn;
    if (Slot known = index_.find(key)) return known;
    const Slot slot = flows_.allocate();
    Flow& made = flows_[slot];
    made.key = key;
    made.lane = static_cast<std::uint8_t>(lane);
    if (state.turn == none) {
        made.prev = made.next = slot;
        state.turn = slot;
    } else { // last in the ring: just before the one whose turn it is
        Flow& turn = flows_[state.turn];
        made.next = state.turn;
        made.prev = turn.prev;
        flows_[turn.prev].next = slot;
        turn.prev = slot;
    }
    index_.insert(slot);
    return slot;
}

void Flows::push(Lanes& lanes, Slot owner, std::size_t lane, std::uint32_t submitter, Slot delivery, End end,
                 smtp::Monotonic now) {
    LaneState& state = lanes.lane[lane];
    const std::uint64_t key = (std::uint64_t{owner} << 34) ^ (std::uint64_t{lane} << 32) ^ submitter;
    const Slot slot = flow(state, lane, key);
    Flow& its = flows_[slot];
    Delivery& d = deliveries_[delivery];
    d.holder = slot;
    if (end == End::back) {
        d.prev = its.tail;
        d.next = none;
        (its.tail == none ? its.head : deliveries_[its.tail].next) = delivery;
        its.tail = delivery;
    } else {
        d.next = its.head;
        d.prev = none;
        (its.head == none ? its.tail : deliveries_[its.head].prev) = delivery;
        its.head = delivery;
    }
    ++its.count;
    if (lane == problem_lane && state.count == 0) lanes.last_problem = now;
    ++state.count;
    ++lanes.count;
    lanes.unlogged += d.unlogged ? 1 : 0;
    lanes.own_clock += d.own_clock ? 1 : 0;
}

void Flows::remove(Lanes& lanes, Slot delivery) {
    Delivery& d = deliveries_[delivery];
    const Slot slot = d.holder;
    Flow& its = flows_[slot];
    LaneState& state = lanes.lane[its.lane];
    (d.prev == none ? its.head : deliveries_[d.prev].next) = d.next;
    (d.next == none ? its.tail : deliveries_[d.next].prev) = d.prev;
    d.prev = d.next = d.holder = none;
    --state.count;
    --lanes.count;
    lanes.unlogged -= d.unlogged ? 1 : 0;
    lanes.own_clock -= d.own_clock ? 1 : 0;
    if (--its.count > 0) return;
    index_.erase(its.key);
    if (its.next == slot) {
        state.turn = none;
    } else {
        flows_[its.prev].next = its.next;
        flows_[its.next].prev = its.prev;
        if (state.turn == slot) state.turn = its.next;
    }
    flows_.release(slot);
}

// Smooth weighted round-robin over the lanes that have something; the problem lane comes in between.
std::size_t Flows::choose(Lanes& lanes, const Settings& settings, smtp::Monotonic now, Purpose purpose) {
    const std::uint32_t problems = lanes.lane[problem_lane].count;
    if (problems > 0) {
        const bool alone = problems == lanes.count;
        const bool share = lanes.since_problem + 1 >= settings.problem_share;
        const bool due = purpose == Purpose::turn && (share || now - lanes.last_problem >= settings.retry_interval);
        if (alone || due) {
            lanes.since_problem = 0;
            lanes.last_problem = now;
            return problem_lane;
        }
        ++lanes.since_problem;
    }
    std::size_t best = problem_lane;
    std::int32_t total = 0;
    for (std::size_t lane = 0; lane < problem_lane; ++lane) {
        LaneState& state = lanes.lane[lane];
        if (state.count == 0) {
            state.credit = 0;
            continue;
        }
        const auto weight = static_cast<std::int32_t>(settings.lane_weights[lane]);
        state.credit += weight;
        total += weight;
        if (best == problem_lane || state.credit > lanes.lane[best].credit) best = lane;
    }
    lanes.lane[best].credit -= total;
    return best;
}

Slot Flows::take(Lanes& lanes, const Settings& settings, smtp::Monotonic now, Purpose purpose) {
    LaneState& state = lanes.lane[choose(lanes, settings, now, purpose)];
    const Slot slot = state.turn;
    state.turn = flows_[slot].next;
    const Slot delivery = flows_[slot].head;
    remove(lanes, delivery);
    return delivery;
}

Slot Flows::front(const Lanes& lanes, std::size_t lane) const {
    const LaneState& state = lanes.lane[lane];
    return state.count == 0 ? none : flows_[state.turn].head;
}

Slot Flows::first(const Lanes& lanes, std::size_t from_lane) const {
    for (std::size_t lane = from_lane; lane < lanes.lane.size(); ++lane)
        if (const Slot found = front(lanes, lane); found != none) return found;
    return none;
}

Slot Flows::next(const Lanes& lanes, Slot delivery) const {
    const Delivery& d = deliveries_[delivery];
    if (d.next != none) return d.next;
    const Flow& its = flows_[d.holder];
    if (its.next != lanes.lane[its.lane].turn) return flows_[its.next].head;
    return first(lanes, its.lane + std::size_t{1});
}

std::size_t Flows::bytes() const { return flows_.bytes() + index_.bytes(); }

} // namespace decide::queue

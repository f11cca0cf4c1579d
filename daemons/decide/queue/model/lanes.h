// The order within one queue: lanes that share by weight, problem messages behind them with a small share of
// their own, and inside a lane one flow per submitter, served in turn. FIFO inside a flow.
#pragma once
#include "daemons/decide/queue/containers/heap.h"
#include "daemons/decide/queue/containers/index.h"
#include "daemons/decide/queue/containers/list.h"
#include "daemons/decide/queue/settings.h"
#include <array>
#include <cstdint>

namespace decide::queue {

struct Delivery;

inline constexpr std::size_t problem_lane = 3;

struct LaneState {
    Slot turn = none; // flow whose turn it is, in a ring
    std::uint32_t count = 0;
    std::int32_t credit = 0;
};

struct Lanes {
    std::array<LaneState, 4> lane;
    std::uint32_t count = 0;
    std::uint32_t healthy() const { return count - lane[problem_lane].count; }
    std::uint32_t unlogged = 0;      // of them, whose wait the log has no line of yet (Delivery::unlogged)
    std::uint32_t own_clock = 0;     // of them, by named policies (Delivery::own_clock)
    std::uint32_t since_problem = 0; // others taken since the last problem message
    smtp::Monotonic last_problem{};
};

class Flows {
public:
    explicit Flows(Slab<Delivery>& deliveries);

    // owner: the queue's slot, which makes its flows its own.
    void push(Lanes& lanes, Slot owner, std::size_t lane, std::uint32_t submitter, Slot delivery, End end,
              smtp::Monotonic now);
    void remove(Lanes& lanes, Slot delivery);
    // The delivery whose turn it is, taken out. There must be one. probe: little may be tried, so problem messages are
    // taken only where there is nothing else.
    enum class Purpose : std::uint8_t { turn, probe };
    Slot take(Lanes& lanes, const Settings& settings, smtp::Monotonic now, Purpose purpose = Purpose::turn);
    // The delivery at the front of a lane; none if it is empty.
    Slot front(const Lanes& lanes, std::size_t lane) const;
    // All deliveries, flow by flow: the first, and the one after it; none: that was the last.
    Slot first(const Lanes& lanes, std::size_t from_lane = 0) const;
    Slot next(const Lanes& lanes, Slot delivery) const;
    std::size_t bytes() const;

private:
    struct Flow {
        std::uint64_t key = 0;
        Slot head = none, tail = none;
        std::uint32_t count = 0;
        Slot prev = none, next = none; // ring
        std::uint8_t lane = 0;
    };
    struct KeyOf {
        const Slab<Flow>* flows;
        std::uint64_t operator()(Slot slot) const { return (*flows)[slot].key; }
    };
    Slot flow(LaneState& state, std::size_t lane, std::uint64_t key);
    std::size_t choose(Lanes& lanes, const Settings& settings, smtp::Monotonic now, Purpose purpose);

    Slab<Delivery>& deliveries_;
    Slab<Flow> flows_;
    Index<KeyOf> index_;
};

} // namespace decide::queue

// What is due next: a four-way heap of slots. Each object holds its time and its own place in the heap, so
// that it can be moved or taken out without a search. Knows no clock.
#pragma once
#include "daemons/decide/queue/containers/slab.h"
#include "libsmtp/text/time_types.h"

namespace decide::queue {

// T has `smtp::Monotonic T::*time` and `std::uint32_t T::*place` (0: not in the heap).
template <class T, smtp::Monotonic T::* time, std::uint32_t T::* place> class DueHeap {
public:
    explicit DueHeap(Slab<T>& items) : items_(items) {}

    bool empty() const { return heap_.empty(); }
    Slot top() const { return heap_.front(); }
    smtp::Monotonic next() const { return items_[heap_.front()].*time; }
    bool contains(Slot slot) const { return items_[slot].*place != 0; }

    void set(Slot slot, smtp::Monotonic when) {
        T& item = items_[slot];
        if (item.*place == 0) {
            heap_.push_back(slot);
            item.*place = static_cast<std::uint32_t>(heap_.size());
        }
        item.*time = when;
        down(up(item.*place - 1));
    }
    // Sooner, never later: the owner looks again when it fires.
    void bring_forward(Slot slot, smtp::Monotonic when) {
        if (!contains(slot) || when < items_[slot].*time) set(slot, when);
    }
    void remove(Slot slot) {
        const std::uint32_t at = items_[slot].*place;
        if (at == 0) return;
        items_[slot].*place = 0;
        const Slot last = heap_.back();
        heap_.pop_back();
        if (last == slot) return;
        put(at - 1, last);
        down(up(at - 1));
    }
    std::size_t bytes() const { return heap_.capacity() * sizeof(Slot); }
    const std::vector<Slot>& slots() const { return heap_; }

private:
    void put(std::size_t at, Slot slot) {
        heap_[at] = slot;
        items_[slot].*place = static_cast<std::uint32_t>(at + 1);
    }
    // Ties go by slot, so that a run is the same every time.
    bool before(Slot a, Slot b) const {
        const auto ta = items_[a].*time, tb = items_[b].*time;
        return ta < tb || (ta == tb && a < b);
    }
    std::size_t up(std::size_t at) {
        const Slot slot = heap_[at];
        while (at > 0) {
            const std::size_t parent = (at - 1) / 4;
            if (!before(slot, heap_[parent])) break;
            put(at, heap_[parent]);
            at = parent;
        }
        put(at, slot);
        return at;
    }
    void down(std::size_t at) {
        const Slot slot = heap_[at];
        for (;;) {
            const std::size_t first = at * 4 + 1;
            if (first >= heap_.size()) break;
            std::size_t least = first;
            for (std::size_t child = first + 1; child < first + 4 && child < heap_.size(); ++child)
                if (before(heap_[child], heap_[least])) least = child;
            if (!before(heap_[least], slot)) break;
            put(at, heap_[least]);
            at = least;
        }
        put(at, slot);
    }

    Slab<T>& items_;
    std::vector<Slot> heap_;
};

} // namespace decide::queue

// A queue of slots threaded through the objects themselves: `prev` and `next` members, nothing allocated.
#pragma once
#include "daemons/decide/queue/containers/slab.h"

namespace decide::queue {

enum class End : std::uint8_t { front, back };

template <class T, Slot T::* prev, Slot T::* next> struct List {
    Slot head = none, tail = none;
    std::uint32_t count = 0;

    bool empty() const { return head == none; }
    void push(Slab<T>& items, Slot slot, End end) {
        T& item = items[slot];
        if (end == End::back) {
            item.*prev = tail;
            item.*next = none;
            (tail == none ? head : items[tail].*next) = slot;
            tail = slot;
        } else {
            item.*next = head;
            item.*prev = none;
            (head == none ? tail : items[head].*prev) = slot;
            head = slot;
        }
        ++count;
    }
    void remove(Slab<T>& items, Slot slot) {
        T& item = items[slot];
        (item.*prev == none ? head : items[item.*prev].*next) = item.*next;
        (item.*next == none ? tail : items[item.*next].*prev) = item.*prev;
        item.*prev = item.*next = none;
        --count;
    }
    Slot pop(Slab<T>& items) {
        const Slot slot = head;
        if (slot != none) remove(items, slot);
        return slot;
    }
};

} // namespace decide::queue

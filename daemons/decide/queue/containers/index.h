// Finds slots by a 64-bit key. Open addressing, linear probing, four bytes a place: the keys stay in the
// objects and are asked for through `KeyOf` (Slot → key).
#pragma once
#include "daemons/decide/queue/containers/slab.h"
#include <utility>

namespace decide::queue {

template <class KeyOf> class Index {
public:
    explicit Index(KeyOf key_of) : key_of_(std::move(key_of)), places_(16, none) {}

    Slot find(std::uint64_t key) const {
        for (std::size_t at = home(key);; at = next(at)) {
            if (places_[at] == none || key_of_(places_[at]) == key) return places_[at];
        }
    }
    // The key must not be there yet.
    void insert(Slot slot) {
        if ((count_ + 1) * 4 > places_.size() * 3) grow();
        put(slot);
        ++count_;
    }
    void erase(std::uint64_t key) {
        std::size_t at = home(key);
        while (key_of_(places_[at]) != key) at = next(at);
        // Close the gap: move back every follower that may not stay behind an empty place.
        for (std::size_t probe = next(at); places_[probe] != none; probe = next(probe)) {
            const std::size_t wanted = home(key_of_(places_[probe]));
            const bool stays = at <= probe ? (at < wanted && wanted <= probe) : (at < wanted || wanted <= probe);
            if (stays) continue;
            places_[at] = places_[probe];
            at = probe;
        }
        places_[at] = none;
        --count_;
    }
    std::size_t bytes() const { return places_.capacity() * sizeof(Slot); }

private:
    std::size_t home(std::uint64_t key) const {
        return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15u) >> 20) & (places_.size() - 1);
    }
    std::size_t next(std::size_t at) const { return (at + 1) & (places_.size() - 1); }
    void put(Slot slot) {
        std::size_t at = home(key_of_(slot));
        while (places_[at] != none) at = next(at);
        places_[at] = slot;
    }
    void grow() {
        std::vector<Slot> old(places_.size() * 2, none);
        old.swap(places_);
        for (Slot slot : old)
            if (slot != none) put(slot);
    }

    KeyOf key_of_;
    std::vector<Slot> places_;
    std::size_t count_ = 0;
};

} // namespace decide::queue

// Small numbers for many objects: storage in chunks that never move, slots used again. Slot 0 is "none".
// The numbers are what lists, heaps and tables hold: half the size of a pointer.
#pragma once
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace decide::queue {

using Slot = std::uint32_t;
inline constexpr Slot none = 0;

template <class T> class Slab {
public:
    Slot allocate() {
        Slot slot;
        if (!free_.empty()) {
            slot = free_.back();
            free_.pop_back();
        } else {
            slot = ++top_;
            if ((slot >> shift) >= chunks_.size()) chunks_.push_back(std::make_unique<T[]>(chunk));
        }
        ++count_;
        return slot;
    }
    // The object is a fresh T afterwards.
    void release(Slot slot) {
        (*this)[slot] = T{};
        free_.push_back(slot);
        --count_;
    }
    T& operator[](Slot slot) {
        assert(slot != none && slot <= top_);
        return chunks_[slot >> shift][slot & (chunk - 1)];
    }
    const T& operator[](Slot slot) const {
        assert(slot != none && slot <= top_);
        return chunks_[slot >> shift][slot & (chunk - 1)];
    }
    std::size_t count() const { return count_; }
    Slot top() const { return top_; } // the largest slot ever used
    std::size_t bytes() const { return chunks_.size() * chunk * sizeof(T) + free_.capacity() * sizeof(Slot); }

private:
    static constexpr unsigned shift = 9;
    static constexpr std::size_t chunk = std::size_t{1} << shift;
    std::vector<std::unique_ptr<T[]>> chunks_;
    std::vector<Slot> free_;
    Slot top_ = 0;
    std::size_t count_ = 0;
};

} // namespace decide::queue

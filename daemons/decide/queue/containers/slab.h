// Small numbers for many objects: storage in chunks that never move, slots used again. Slot 0 is "none".
// The numbers are what lists, heaps and tables hold: half the size of a pointer. A chunk is so large that the
// allocator gives it pages of its own: what stays for days must not lie between what comes and goes, for the
// gaps that leaves are a quarter of the memory.
#pragma once
#include <bit>
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
    static constexpr std::size_t own_pages = 128 * 1024; // bytes (glibc's M_MMAP_THRESHOLD)
    static constexpr unsigned shift = static_cast<unsigned>(std::bit_width(own_pages / sizeof(T)));
    static constexpr std::size_t chunk = std::size_t{1} << shift; // objects: more than own_pages, at most twice
    std::vector<std::unique_ptr<T[]>> chunks_;
    std::vector<Slot> free_;
    Slot top_ = 0;
    std::size_t count_ = 0;
};

} // namespace decide::queue

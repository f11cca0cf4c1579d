// Messages whose list is longer than a frame: split into parts by the sender, joined by the receiver. Each part is a
// small message of its own, so that other messages can be sent between two of them. Such a message has the fields
//     std::uint32_t part;   counted from 0; the first has all fields, later ones what continued() leaves and the list
//     bool more;            another part follows
// and the functions key() (which message the part belongs to) and continued() (a copy with the fields that every part
// must have). Pure; knows no connection.
#pragma once
#include "daemons/common/ipc/message.h"
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace ipc {

inline constexpr std::size_t part_size = 64 * 1024; // bytes of list elements in a part; one element may be longer

// The parts of one message, in order.
template <class M, auto list> class PartSplitter {
public:
    explicit PartSplitter(M whole) : rest_(std::move((whole.*list))), head_(std::move(whole)) { (head_.*list).clear(); }
    // Until next() has returned the last part.
    bool more() const { return part_ == 0 || at_ < rest_.size(); }
    M next() {
        M out = part_ == 0 ? std::move(head_) : next_;
        if (part_ == 0) next_ = out.continued();
        std::size_t size = 0;
        const auto begun = at_;
        for (; at_ < rest_.size(); ++at_) {
            size += size_on_wire(rest_[at_]);
            if (size > part_size && at_ > begun) break;
            (out.*list).push_back(std::move(rest_[at_]));
        }
        out.part = part_++;
        out.more = at_ < rest_.size();
        return out;
    }

private:
    std::remove_cvref_t<decltype(std::declval<M&>().*list)> rest_;
    M head_, next_{};
    std::size_t at_ = 0;
    std::uint32_t part_ = 0;
};

// The receiving end, for several messages at a time. Their total size is bounded; a message that exceeds the bound is
// returned without its list, so that its sender can be notified.
template <class M, auto list> class PartAssembler {
public:
    struct Whole {
        M message;
        bool complete = true; // false: it was too long, or a part was missing
    };

    explicit PartAssembler(std::size_t most_bytes) : most_(most_bytes) {}

    // The whole message, if this is its last part. A first part starts its message again.
    std::optional<Whole> add(M&& part) {
        const auto key = part.key();
        if (part.part == 0) forget(key);
        if (part.part == 0 && !part.more) return Whole{std::move(part)}; // nearly all of them
        auto [at, fresh] = begun_.try_emplace(key);
        Begun& begun = at->second;
        std::size_t size = 0;
        for (const auto& each : part.*list) size += size_on_wire(each) + sizeof each;
        const bool more = part.more, fits = begun.next == part.part && size_ + size <= most_;
        if (fresh) {
            begun.whole.message = std::move(part);
        } else if (fits && begun.whole.complete) {
            auto& all = begun.whole.message.*list;
            all.insert(all.end(), std::make_move_iterator((part.*list).begin()),
                       std::make_move_iterator((part.*list).end()));
        }
        if (!fits || !begun.whole.complete) {
            begun.whole.complete = false;
            begun.whole.message.*list = {};
            size_ -= std::exchange(begun.size, 0);
        } else {
            begun.size += size;
            size_ += size;
        }
        ++begun.next;
        if (more) return {};
        auto whole = std::move(begun.whole);
        whole.message.more = false;
        whole.message.part = 0;
        forget(key);
        return whole;
    }
    // The peer has gone: messages that have begun will not be completed.
    void forget_all() {
        begun_.clear();
        size_ = 0;
    }

private:
    struct Begun {
        Whole whole;
        std::uint32_t next = 0;
        std::size_t size = 0;
    };
    using Key = decltype(std::declval<const M&>().key());
    void forget(const Key& key) {
        if (const auto at = begun_.find(key); at != begun_.end()) {
            size_ -= at->second.size;
            begun_.erase(at);
        }
    }

    std::size_t most_, size_ = 0;
    std::map<Key, Begun> begun_;
};

} // namespace ipc

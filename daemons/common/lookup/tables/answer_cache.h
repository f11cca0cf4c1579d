// A cache of fetched answers. Bounded: the oldest are dropped. Pure: its owner supplies the time.
#pragma once
#include "daemons/common/lookup/format/answer.h"
#include "libsmtp/text/time_types.h"
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace tables {

class AnswerCache {
public:
    static constexpr std::size_t entry_overhead = 200; // bytes, on top of the texts
    explicit AnswerCache(std::size_t most_bytes = 64 << 20) : most_bytes_(most_bytes) {}

    // Null: not cached, or expired. Valid until the next put().
    const Answer* find(const std::string& key, smtp::Monotonic now) const {
        const auto found = kept_.find(key);
        return found == kept_.end() || now >= found->second.until ? nullptr : &found->second.answer;
    }
    void put(const std::string& key, Answer answer, smtp::Monotonic until) {
        auto& kept = kept_[key];
        bytes_ -= kept.bytes;
        const auto bytes = 2 * key.size() + answer.value.size() + answer.why.size() + entry_overhead;
        kept = {std::move(answer), until, ++last_, bytes};
        bytes_ += bytes;
        order_.emplace_back(last_, key);
        if (order_.size() > 2 * kept_.size() + 64)
            std::erase_if(order_, [&](const auto& place) {
                const auto found = kept_.find(place.second);
                return found == kept_.end() || found->second.number != place.first;
            });
        while (bytes_ > most_bytes_ && !order_.empty()) {
            const auto oldest = kept_.find(order_.front().second);
            if (oldest != kept_.end() && oldest->second.number == order_.front().first) {
                bytes_ -= oldest->second.bytes;
                kept_.erase(oldest);
            }
            order_.pop_front();
        }
    }
    // Drops "none" that was to be kept until before then. True: it was there.
    bool drop_none(const std::string& key, smtp::Monotonic then) {
        const auto found = kept_.find(key);
        if (found == kept_.end() || found->second.answer.status != Answer::Status::none || found->second.until >= then)
            return false;
        bytes_ -= found->second.bytes;
        kept_.erase(found);
        return true;
    }
    std::size_t bytes() const { return bytes_; }
    std::size_t places() const { return order_.size(); } // entries in the order of insertion

private:
    struct Kept {
        Answer answer;
        smtp::Monotonic until;
        std::uint64_t number = 0;
        std::size_t bytes = 0;
    };
    std::size_t most_bytes_, bytes_ = 0;
    std::uint64_t last_ = 0;
    std::unordered_map<std::string, Kept> kept_;
    std::deque<std::pair<std::uint64_t, std::string>> order_; // of insertion; entries with an old number are stale
};

} // namespace tables

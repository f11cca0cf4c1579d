// How many recipients of a message came to which end, until the last one has: for message.finished. Only messages of
// which some have ended are here. Pure.
#pragma once
#include "libspool/format/queue_id.h"
#include "libspool/message/message_state.h"
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace queue_manager {

enum class RecipientEnd : std::uint8_t {
    delivered,
    failed,
    expired,
    suppressed,
    discarded,
    expanded, // into others, which come to ends of their own
    removed,  // by an operator
    last_ = removed,
};
constexpr std::string_view name_of(RecipientEnd end) {
    constexpr std::string_view names[] = {"delivered", "failed",   "expired", "suppressed",
                                          "discarded", "expanded", "removed"};
    return names[static_cast<std::size_t>(end)];
}

using OutcomeCounts = std::array<std::uint32_t, static_cast<std::size_t>(RecipientEnd::last_) + 1>;

// Of a message's recipients, as its file has them.
OutcomeCounts counts_of(const spool::MessageState& state);

class OutcomeCounters {
public:
    void add(spool::QueueId id, RecipientEnd end, std::uint32_t count = 1) {
        counts_[id][static_cast<std::size_t>(end)] += count;
    }
    // What its file says, when it is found at a start.
    static std::optional<RecipientEnd> end_of(const spool::RecipientState& recipient); // nothing: it has not ended
    void restore(spool::QueueId id, const spool::MessageState& state);
    // The message is finished, or removed.
    OutcomeCounts take(spool::QueueId id);

private:
    std::unordered_map<spool::QueueId, OutcomeCounts> counts_;
};

} // namespace queue_manager

// A part of a message's recipients: an answer about a message with thousands of them holds some, says how many there
// are, and where the rest begins. A recipient keeps its number, from which the next answer continues. Pure.
#pragma once
#include "daemons/decide/queue/listing.h"
#include "libspool/message/message_state.h"
#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace queue_manager {

struct RecipientPart {
    static constexpr std::uint64_t most = 2000, everyone = std::numeric_limits<std::uint32_t>::max();
    std::uint64_t from = 0, limit = everyone;
};
// "from" and "limit" of a request about one message: `most` at most.
RecipientPart recipient_part(const nlohmann::json& body);

struct ChosenRecipients {
    std::vector<std::uint32_t> numbers;
    std::uint64_t total = 0; // of those that count, in this part or not
    std::uint64_t next = 0;  // where the rest begins; 0: there is none
};
enum class Recipients : std::uint8_t { unfinished, all }; // of an alias: those that it led to
ChosenRecipients choose(const spool::MessageState& state, Recipients which, const RecipientPart& part);

// From the first to the last of them.
decide::queue::RecipientRange range_of(const ChosenRecipients& chosen);
inline constexpr decide::queue::RecipientRange no_recipient = {.first = 1, .last = 0};

} // namespace queue_manager

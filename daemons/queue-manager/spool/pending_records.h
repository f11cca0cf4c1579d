// Recipients that are served as they stand and somewhere else, until their message's file says so: tables that
// change meanwhile must not send it to anybody new after a restart. Most messages are gone before that is worth
// a write, so it waits a little. Pure: told when time has passed.
#pragma once
#include "libspool/format/property.h"
#include "libspool/format/queue_id.h"
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace queue_manager {

class PendingRecords {
public:
    static constexpr auto delay = std::chrono::seconds(1);

    void add(spool::QueueId id, std::span<const std::uint32_t> recipients);
    // The record for that message, if one is still to be written; it goes before any other of its records.
    std::optional<spool::Categorized> take(spool::QueueId id);
    // A while has passed: what has been here for the whole of it is to be written now.
    std::vector<std::pair<spool::QueueId, spool::Categorized>> passed();
    bool empty() const { return young_.empty() && old_.empty(); }

private:
    using Messages = std::unordered_map<spool::QueueId, std::vector<std::uint32_t>>;
    Messages young_, old_; // since the last call of passed(), and before it
};

} // namespace queue_manager

// The journal of what became of every message: where it is, when it is on stable storage, how much of it is kept:
// [history]. Values.
#pragma once
#include "daemons/common/config/schema/quantities.h"
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace config {

enum class RecordedAddresses : std::uint8_t { clear, hashed };
enum class RecordedDialogue : std::uint8_t { none, failures };

struct History {
    bool enabled = true;
    bool required = false;                          // no mail is accepted while it cannot be written
    std::string directory;                          // "": history/ in the spool
    Duration sync = std::chrono::milliseconds(250); // how long a line may wait for stable storage
    Duration keep = 24h * 30;                       // older segments are removed; 0: none are
    std::uint64_t size = 10240 * MiB;               // beyond it the oldest are removed; 0: no limit
    std::uint32_t door_events_per_second = 100;     // of each process that serves clients; 0: none
    RecordedAddresses addresses = RecordedAddresses::clear;
    RecordedDialogue dialogue = RecordedDialogue::none; // of delivery attempts
    std::vector<std::string> headers;                   // names of header fields that are recorded
    static constexpr std::size_t most_headers = 10;
    Duration keep_failed = 0s; // how long messages that failed for a recipient are kept; 0: not at all
    std::uint64_t keep_failed_size = 1024 * MiB; // beyond it the oldest of these are deleted

    std::string path(const std::string& spool) const { return directory.empty() ? spool + "/history" : directory; }
};

} // namespace config

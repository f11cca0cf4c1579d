// The directories and file names of the spool. Knows names only; opens nothing.
#pragma once
#include "libspool/format/queue_id.h"
#include <cstdint>
#include <string>

namespace spool {

// A message's file is in one of two places: where its writer made it, or where the queue-manager keeps it.
enum class Location : std::uint8_t { incoming, messages, last_ = messages };

// "incoming/1F", "messages/A0": relative to the spool directory. The writer's slot and the hash directory are
// both read off the id.
std::string directory_of(QueueId id, Location location);
// "incoming/1F/0A1B…1F", "messages/A0/0A1B…1F".
std::string path_of(QueueId id, Location location);
// "removed/0A1B…1F": of what an operator removed and may want back.
std::string path_of_removed(QueueId id);

} // namespace spool

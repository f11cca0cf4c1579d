// The directories and file names of the spool. Knows names only; opens nothing.
#pragma once
#include "libspool/format/queue_id.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace spool {

// A message's file is in one of two places: where its writer made it, or where the queue-manager keeps it.
enum class Location : std::uint8_t { incoming, messages, last_ = messages };

// A file in incoming/ that its writer uses for one message after another ("reused file"): named for ever by the id of
// the first of them. No file is named by id 0.
inline constexpr QueueId own_file{0}; // the message has a file of its own

// Where to look for a message first.
struct FileHint {
    FileHint(Location where) : location(where) {}
    FileHint(Location where, QueueId file) : location(where), reused(file) {}
    Location location;
    QueueId reused = own_file; // the reused file it was committed to
};

// "incoming/1F", "messages/A0": relative to the spool directory. The writer's slot and the hash directory are
// both read off the id.
std::string directory_of(QueueId id, Location location);
// "incoming/1F/0A1B…1F", "messages/A0/0A1B…1F".
std::string path_of(QueueId id, Location location);
// "incoming/1F/0A1B…1F.reused": a reused file.
std::string path_of_reused(QueueId file);
// Of a name in incoming/<slot>/, or a path that ends with one: which reused file it names, if it is one.
std::optional<QueueId> reused_file_named(std::string_view name);
// "removed/0A1B…1F": of what an operator removed and may want back.
std::string path_of_removed(QueueId id);
// "failed/0A1B…1F": of a finished message that is kept because it failed for a recipient.
std::string path_of_failed(QueueId id);

} // namespace spool

// What the store does with the shared suppression list, in one step each. Values are those of
// common::SharedSuppression; nothing here knows when a script is to run.
#pragma once
#include "daemons/fleet/redis/command.h"
#include "daemons/fleet/redis/script.h"

namespace fleet {

// Their keys: the hash of all entries, the stream of changes, the number of the last one, the id of this data.
const redis::Command& suppression_keys();

// The id, made if there is none, and the number of the last change.
const redis::Script& state_script();

// Of each key and value those that replace what is there, as SharedSuppression::replaces() has it; says how many.
// Values begin with the time of their change and "P", "A" or "E". A number that is behind the stream was lost:
// everything is compared again (-1).
const redis::Script& put_script();

// The id, the number of the last change, and the changes behind a number.
const redis::Script& look_script();

// Removes entries that are as they were seen: they have expired.
const redis::Script& remove_script();

} // namespace fleet

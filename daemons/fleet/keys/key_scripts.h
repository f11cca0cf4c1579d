// What the store does with an idempotency key that nodes share, in one step each. Its keys: the entry of the
// idempotency key, and the table of this node's pledges, by name. Values are those of KeyEntry; nothing here knows when
// a script is to run.
#pragma once
#include "daemons/fleet/redis/script.h"
#include <string>
#include <string_view>

namespace fleet {

std::string entry_key(std::string_view name); // of 32 bytes
std::string pledges_key(std::string_view node);

// All of them: 1, it was done; or the entry that is there instead. Arguments: the tail of the entry, then a time in ms
// that it is kept, but for release.
const redis::Script& reserve_script(); // and then: the node's name. Its own reservation of another message is replaced.
const redis::Script& pledge_script();
const redis::Script& confirm_script();
const redis::Script& release_script();

// Accepted keys that the store may have lost: entries for KEYS, of tails and times. Replaces what no node has pledged;
// says how many.
const redis::Script& offer_script();

// Of one table of pledges, from a cursor on: the next cursor, and names and tails.
const redis::Script& pledges_script();

} // namespace fleet

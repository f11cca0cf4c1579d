// What the store does with an idempotency key that nodes share, in one step each. The keys of most: the entry of the
// idempotency key, and the table of this node's pledges, by name. Values are those of KeyEntry; nothing here knows when
// a script is to run.
#pragma once
#include "daemons/fleet/redis/script.h"
#include <string>
#include <string_view>

namespace fleet {

// `origin`: of a program's message; "": of another. Programs leave it to the system to complete addresses: with
// different origins, the same text is not the same message.
std::string entry_key(std::string_view name, std::string_view origin); // the name has 32 bytes
std::string name_in(std::string_view entry_key);                       // "": it is none
std::string pledges_key(std::string_view node);
inline constexpr std::string_view since_key = "keys-since";     // when the store got its first question
inline constexpr std::string_view offered_key = "keys-offered"; // nodes: "1", this store has all their keys

// Each of these: 1, it was done; or the entry that is there instead. Arguments: the tail of the entry, then a time in
// ms that it is kept, but for release.
//
// The first two also have since_key and offered_key, then the node's name, the number of nodes that must have written
// their keys before a missing one is free, and names of such nodes. "new": they have not yet.
inline constexpr std::string_view is_new = "new";
const redis::Script& reserve_script(); // its own reservation of another message is replaced
const redis::Script& pledge_script();
const redis::Script& confirm_script();
const redis::Script& release_script();

// All accepted keys of a node, which the store may have lost: a beginning, parts, an end. Of offered_key, the node and
// a word that is only this pass's: 1, the store is the one that the pass began with; 0, it lacks what it was given.
const redis::Script& begin_offer_script();
const redis::Script& end_offer_script();
// Entries for KEYS, of tails and times. Replaces what no node has pledged; says how many, and how many others have.
const redis::Script& offer_script();

// Of one table of pledges and offered_key, from a cursor on, and the node: the next cursor, names and tails, whether
// the store has this node's keys, or is being given them.
const redis::Script& pledges_script();

} // namespace fleet

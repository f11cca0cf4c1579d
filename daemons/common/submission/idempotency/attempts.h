// What became of attempts to accept messages with idempotency keys, as the store of this node and the spool show it:
// for other nodes, which may not take such a key before. Waits for the store: not for a loop's thread.
#pragma once
#include "daemons/common/submission/idempotency/store.h"
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace common::idempotency {

struct Attempt {
    std::string name; // of the key: name_in_store()
    spool::QueueId id;
};

struct AttemptResult {
    enum class Fate : std::uint8_t { open, accepted, gone } fate = Fate::open;
    smtp::WallTime expires{}; // accepted: when the key does
};

// Where the file of a message is. In incoming/ first: from there files go to messages/, never back.
decide::idempotency::Trace trace_of(const std::string& spool, spool::QueueId id);

// In order. An attempt whose claim is no longer there, or belongs to another one, is gone; one whose process lives is
// open, and so are all until the spool has been read for keys.
spool::Result<std::vector<AttemptResult>> results_of(store::Store& store, std::string_view boot,
                                                     const KeyStore::OwnerProbe& probe,
                                                     std::span<const Attempt> attempts, smtp::WallTime now);

// The keys of accepted messages that other nodes share, in the order of their names: up to `most` entries behind
// `after`, which becomes the last one that was read; it stays as it is if there are no more. An error until the spool
// has been read for keys: some would be left out.
struct NamedClaim {
    std::string name;
    Claim what;
    smtp::WallTime expires{};
};
spool::Result<std::vector<NamedClaim>> accepted_keys(store::Store& store, std::string_view boot, std::string& after,
                                                     std::size_t most, smtp::WallTime now);

} // namespace common::idempotency

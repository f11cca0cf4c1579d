// The claims on idempotency keys in a store: who reserves one, accepts its
// message, or releases it. Any number of processes do so at once, each with
// a KeyStore of its own. Waits for the store: not for a loop's thread.
#pragma once
#include "daemons/common/store/store.h"
#include "daemons/decide/message/idempotency.h"
#include "libspool/format/envelope.h"
#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace common::idempotency {

using decide::idempotency::Claim;

// Where the store lies: "SPOOL/state/idempotency".
inline std::string directory_in(const std::string& spool) { return spool + "/state/idempotency"; }

// A request about a key. claim: `what` is to become a message. confirm: that message is durable. release: it will not
// be.
struct Request {
    enum class Kind : std::uint8_t { claim, confirm, release } kind = Kind::claim;
    Claim what; // reserved, by the same owner in all three
    smtp::WallTime expires{};
};

struct Answer {
    enum class Kind : std::uint8_t {
        proceed,       // the key is yours (of a claim), or done
        duplicate,     // of `first`, which was accepted
        other_content, // than that of `first`
        busy,          // another message with the same key is being accepted
        unavailable,   // the store: `why`
    } kind = Kind::proceed;
    spool::QueueId first;
    std::string why;
    std::string node = {}; // of `first`; "": this one
};

// The claim of a transfer from another node on its name, for the message that it becomes. It is kept longer than the
// other node asks about a transfer without an answer.
Claim claim_of(const spool::TransferOrigin& transfer, spool::QueueId id);
inline constexpr std::chrono::hours transfer_lifetime{30 * 24};

// Whether other nodes may have the same key: not those of transfers and of files in the pickup directory, which are
// made from what only this node has.
bool is_shared(const Claim& claim);
// Whether its submitter is a user of this host, whose programs leave parts of addresses to the system.
bool is_of_program(const Claim& claim);

class KeyStore {
public:
    // What can be found out about other owners. `trace_of` returns where the file is now.
    struct OwnerProbe {
        std::function<decide::idempotency::Owner(std::string_view owner)> state_of;
        std::function<decide::idempotency::Trace(spool::QueueId id)> trace_of;
    };
    KeyStore(store::Store& store, std::string boot, OwnerProbe probe)
        : store_(store), boot_(std::move(boot)), probe_(std::move(probe)) {}

    // One answer for each, in order. They take effect as though one after the other.
    std::vector<Answer> execute(std::span<const Request> requests, smtp::WallTime now);

private:
    bool judge(const Request& request, const store::Entry& there, Answer& answer) const;

    store::Store& store_;
    const std::string boot_;
    OwnerProbe probe_;
};

// For the queue-manager: these messages are durable; records that permanently. They are in the spool, or were when it
// was read; a key that already belongs to another message stays with it.
struct AcceptedKey {
    Claim what; // accepted
    smtp::WallTime expires{};
};
spool::Result<> record_accepted(store::Store& store, std::span<const AcceptedKey> kept, smtp::WallTime now);

// Whether all keys of the messages in the spool have been put into the store since the machine started: what a lost
// store or a power failure took away has then been restored as far as possible. Until then a missing key means nothing.
// `boot`: identifies this start of the machine.
spool::Result<bool> is_complete(store::Store& store, std::string_view boot, smtp::WallTime now);
spool::Result<> set_complete(store::Store& store, std::string_view boot, smtp::WallTime now);
// From the kernel; "" where it has none.
std::string boot_id();

} // namespace common::idempotency

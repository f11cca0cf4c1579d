// Where a writer (smtpd, pickup) claims idempotency keys: queries the key store off the loop,
// all pending keys in one transaction, and releases a key automatically if its message is not
// accepted. What is free there is then claimed for all nodes of the fleet, if they share their
// keys. Opens the store when the first key arrives. Must not know where messages come from.
#pragma once
#include "daemons/common/config/sections/server/idempotency.h"
#include "daemons/common/config/sections/system/fleet.h"
#include "daemons/common/logging/log.h"
#include "daemons/common/logging/metrics/metrics.h"
#include "daemons/common/submission/idempotency/shared_keys.h"
#include "daemons/common/submission/idempotency/store.h"
#include "libsmtp/protocol/reply.h"
#include "libspool/disk/commit_pool.h"
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace common::idempotency {

// A key that was reserved for a message. If this is destroyed before its message is durable, the key is free again.
class Reservation {
public:
    ~Reservation();
    Reservation(const Reservation&) = delete;

private:
    friend class Client;
    Reservation(std::weak_ptr<class Client*> client, Request request)
        : client_(std::move(client)), request_(std::move(request)) {}
    std::weak_ptr<Client*> client_; // none: settled
    Request request_;
    bool elsewhere_ = false; // other nodes may know of it
};

// The decision on a message with a key. hold: continue with the message, and confirm it when it is durable. Null:
// `reply` is the answer, 250 for a duplicate.
struct Decision {
    std::unique_ptr<Reservation> hold;
    smtp::Reply reply;
    std::optional<spool::QueueId> duplicate_of;
    spool::QueueId existing;    // of other_content
    std::string node = {};      // of either; "": this one
    bool other_content = false; // than the duplicate's, or than that of the message that `reply` names
    bool busy = false;          // a message with this key is being accepted

    std::string first_text() const;                         // of a duplicate: its id, with its node if it is another
    std::string duplicate_text(std::string_view key) const; // likewise, for the log
};

class Client {
public:
    using Decided = std::move_only_function<void(Decision)>;

    // `pool`: where it may wait for the disk; its drain() brings the answers. Both outlive it. `spool`: its directory.
    Client(Log& log, spool::CommitPool& pool, const config::Idempotency& settings, const std::string& spool,
           std::uint8_t slot);
    ~Client();
    Client(const Client&) = delete;

    void reconfigure(const config::Idempotency& settings) { life_ = settings.lifetime; }
    // From now on: for all nodes of the fleet, if these share their keys. `metrics` outlives this.
    void share(const config::Fleet& fleet, const SharedKeys::Peer& peer, Metrics& metrics);

    // For an envelope with a key and its digest, for the message of that id. `decided` is called once, later.
    void claim(const spool::Envelope& envelope, spool::QueueId id, config::IdempotencyMatch match, Decided decided);
    // For a message that comes from another node, with the digest of it: under the name of that transfer, whose key is
    // kept for transfer_lifetime.
    void claim_transfer(const spool::TransferOrigin& transfer, spool::QueueId id, Decided decided);
    // Before its message is made durable; other nodes may have taken the key meanwhile, or cannot be asked. None: go
    // on; else the message ends. `done` is called once, at once if there are no others.
    using Secured = std::move_only_function<void(std::optional<Decision>)>;
    void secure(const Reservation& hold, config::IdempotencyMatch match, Secured done);
    // The message is durable, and so is its key with it: even if this fails, the queue-manager records it. `done` is
    // called once, later: from then on the key is recorded for all processes.
    void confirm(std::unique_ptr<Reservation> hold, std::function<void()> done);

private:
    friend class Reservation;
    struct Waiting {
        Request request;
        std::move_only_function<void(const Answer&)> answered;
    };
    struct Back; // what the jobs use
    void add(Request request, std::move_only_function<void(const Answer&)> answered);
    void send();
    void release(const Request& request);
    void give_up(const Reservation& hold);
    void claim_everywhere(const Request& request, config::IdempotencyMatch match, Decided decided);
    std::optional<Decision> ending(const Request& request, config::IdempotencyMatch match,
                                   const SharedKeys::Answer& answer);
    std::optional<Decision> without_others(const Request& request, const std::string& why);
    void others_answer();
    void answered(std::vector<Waiting> asked, const std::vector<Answer>& answers);
    Decision decide(Request request, config::IdempotencyMatch match, const Answer& answer);
    void log_availability(const Answer& answer);

    Log& log_;
    spool::CommitPool& pool_;
    smtp::Duration life_;
    std::shared_ptr<Back> back_;
    std::vector<Waiting> waiting_;
    std::vector<Request> unreleased_; // the store could not be written: sent again with the next ones
    bool busy_ = false;               // a job is under way
    bool store_unavailable_ = false;  // this was logged
    bool others_unavailable_ = false; // and this
    config::FleetKeys sharing_ = config::FleetKeys::off;
    std::string node_; // our name
    Metrics* metrics_ = nullptr;
    std::unique_ptr<SharedKeys> others_; // null: keys are not shared
    std::shared_ptr<Client*> alive_;     // for what may outlive it
};

} // namespace common::idempotency

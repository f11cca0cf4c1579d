// Operators' changes to messages: hold, release, remove, expire, reprioritise, reroute, requeue, schedule, force. Each
// is written to the message's file and synced, then passed to the engine; what is in flight is stopped before it is
// removed. Knows the engine's commands and the messages' records; must not know how messages are selected.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/queue-manager/control/delivery_stops.h"
#include "daemons/queue-manager/engine_driver/current_config.h"
#include "daemons/queue-manager/engine_driver/engine_driver.h"
#include "daemons/queue-manager/engine_driver/message_intake.h"
#include "daemons/queue-manager/events/message_events.h"
#include "daemons/queue-manager/requests/message_selection.h"
#include "daemons/queue-manager/requests/replies.h"
#include "daemons/queue-manager/spool/message_files.h"
#include "daemons/queue-manager/transfers/transfers.h"
#include "libspool/disk/commit_pool.h"
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace queue_manager {

class MessageChanges {
public:
    struct Dependencies { // all outlive it
        common::Log& log;
        const CurrentConfig& config;
        EngineDriver& driver;
        spool::CommitPool& pool;
        MessageFiles& files;
        const MessageIntake& intake;
        DeliveryStops& stops;
        const MessageSelection& selection;
        MessageEvents& events;
        Transfers& transfers;
    };
    MessageChanges(const Dependencies& dependencies, Replies replies) : deps_(dependencies), replies_(replies) {}
    MessageChanges(const MessageChanges&) = delete;

    // `operation`: one of proto::control::op.
    void change(const Request& request, const nlohmann::json& body, std::string operation);

private:
    // One request's change, and its results so far.
    struct Change;
    using Shared = std::shared_ptr<Change>;
    using Walk = std::shared_ptr<MessageWalk>;
    struct Written { // what has just been written
        spool::QueueId id;
        spool::journal::MessageFacts about{};
        smtp::WallTime expiry{};        // schedule: from now on; {}: as before
        spool::Transferring transfer{}; // move
    };

    std::string error_in(const Change& change, const nlohmann::json& body) const; // "" none
    void take(const Shared& change, const Walk& walk, std::vector<SelectedMessage> selected);
    // Why it is not changed; "": it is.
    std::string why_not(const Change& change, const SelectedMessage& selected) const;
    // Nothing of it is begun until it is written.
    void hold_and_write(const Shared& change, const Walk& walk, const SelectedMessage& selected);
    void go_on(spool::QueueId id);
    void move_back(const Shared& change, const Walk& walk, spool::QueueId id);
    void skip(Change& change, spool::QueueId id, std::string_view why);
    void stopped(const Shared& change, const Walk& walk, const SelectedMessage& selected, bool stopped);
    // `open`: its recipients that are left. `goes_on`: its delivery was only kept from beginning, and continues.
    void write(const Shared& change, const Walk& walk, const SelectedMessage& selected,
               const std::vector<std::uint32_t>& open, bool goes_on);
    void execute(Change& change, const Written& written); // and counts it
    // To the engine; false: already so, or the message has gone.
    bool apply(const Change& change, const Written& written);
    void record_in_journal(const Change& change, const Written& written);
    bool paused(spool::QueueId id) const;                 // all of it
    void through(const Shared& change, const Walk& walk); // with one message of the batch
    static std::string reasons(const Change& change);
    void finish(const Change& change, bool by_filter);

    Dependencies deps_;
    Replies replies_;
};

} // namespace queue_manager

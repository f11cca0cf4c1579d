// Tells the queue-manager of reports that are durable, again on every new connection until each is Taken.
#pragma once
#include "daemons/common/ipc/connector.h"
#include "daemons/common/proto/submission.h"
#include <map>

namespace bounce {

class Outbox {
public:
    Outbox(common::Loop& loop, common::Log& log, const std::string& run, const ipc::Identity& identity)
        : queue_manager_(
              loop, log, run + "/private/queue-manager", proto::submission::conversation, identity,
              {[this](proto::submission::Message&& message) { heard(message); }, [this] { say_all(); }}) {}

    void submit(proto::submission::Submitted submitted) {
        const auto id = submitted.queue_id;
        const auto& kept = waiting_.insert_or_assign(id, std::move(submitted)).first->second;
        queue_manager_.send(kept);
    }

private:
    void heard(const proto::submission::Message& message) {
        if (const auto* taken = std::get_if<proto::submission::Taken>(&message))
            waiting_.erase(taken->queue_id);
        else
            queue_manager_.fail("only Taken is said here");
    }
    void say_all() {
        for (auto& [id, submitted] : waiting_) {
            submitted.repeated = true; // as far as one can know
            queue_manager_.send(submitted);
        }
    }

    std::map<spool::QueueId, proto::submission::Submitted> waiting_;
    ipc::Connector<proto::submission::Message> queue_manager_;
};

} // namespace bounce

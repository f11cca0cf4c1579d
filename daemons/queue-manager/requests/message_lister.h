// Lists the messages of a selection, or counts them: as much at a time as the client reads. Changes nothing.
#pragma once
#include "daemons/decide/queue/engine.h"
#include "daemons/queue-manager/requests/message_selection.h"
#include "daemons/queue-manager/requests/replies.h"
#include <memory>
#include <nlohmann/json_fwd.hpp>

namespace queue_manager {

class MessageLister {
public:
    // All outlive it.
    MessageLister(const decide::queue::Engine& engine, const MessageSelection& selection, Replies replies)
        : engine_(engine), selection_(selection), replies_(replies) {}
    MessageLister(const MessageLister&) = delete;

    void send(const Request& request, const nlohmann::json& body) const;

private:
    void count(const Request& request, const std::shared_ptr<MessageWalk>& walk) const;
    // The message after which a list continues; nothing: it is not known.
    std::optional<decide::queue::Rank> rank_of(std::string_view id, decide::queue::Order order) const;

    const decide::queue::Engine& engine_;
    const MessageSelection& selection_;
    Replies replies_;
};

} // namespace queue_manager

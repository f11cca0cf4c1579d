// A daemon that answers the queue-manager's questions: there, or not there right now. Knows its channel; must
// not know what is asked.
#pragma once
#include "daemons/common/ipc/channel.h"
#include "daemons/common/loop.h"
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace queue_manager {

template <class Message>
class Service {
public:
    struct Callbacks {
        std::function<void()> up, down; // down: what was asked and not answered never will be
        std::function<void(Message&&)> answer;
    };

    Service(common::Loop& loop, Callbacks callbacks) : loop_(loop), callbacks_(std::move(callbacks)) {}

    // The newest one to connect is the one that is asked.
    void attach(std::unique_ptr<ipc::Channel<Message>> channel) {
        if (channel_) detach();
        channel_ = std::move(channel);
        channel_->set_callbacks({
            callbacks_.answer,
            [this](const std::string&) { detach(); },
        });
        callbacks_.up();
    }

    bool present() const { return channel_ != nullptr; }

    // Nothing is said while nobody is there: the engine asks again when the service is up.
    template <class Question>
    bool ask(const Question& question) {
        if (channel_) channel_->send(question);
        return channel_ != nullptr;
    }

private:
    void detach() {
        // The callback that is running may be the channel's own: it may only go when the turn ends.
        loop_.later([gone = std::shared_ptr<ipc::Channel<Message>>(std::move(channel_))] {});
        callbacks_.down();
    }

    common::Loop& loop_;
    Callbacks callbacks_;
    std::unique_ptr<ipc::Channel<Message>> channel_;
};

} // namespace queue_manager

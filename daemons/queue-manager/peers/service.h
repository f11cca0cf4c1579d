// A daemon that answers the queue-manager's requests: connected, or not at the moment. Knows its channel; must not know
// the requests.
#pragma once
#include "daemons/common/ipc/channel.h"
#include "daemons/common/runtime/loop.h"
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace queue_manager {

template <class Message> class Service {
public:
    struct Callbacks {
        std::function<void()> up, down; // down: requests without an answer will never get one
        std::function<void(Message&&)> answer;
    };

    Service(common::Loop& loop, Callbacks callbacks) : loop_(loop), callbacks_(std::move(callbacks)) {}

    // The last one to connect is used.
    void attach(std::unique_ptr<ipc::Channel<Message>> channel) {
        if (channel_) detach();
        channel_ = std::move(channel);
        channel_->set_callbacks({
            callbacks_.answer,
            [this](const std::string&) { detach(); },
            [this] { go_on(); },
        });
        callbacks_.up();
    }

    bool present() const { return channel_ != nullptr; }

    // Sends nothing while the service is not connected: the engine asks again when it is up.
    template <class Question> [[nodiscard]] ipc::SendResult ask(const Question& question) {
        return channel_ ? channel_->send(question) : ipc::SendResult::not_open;
    }
    template <ipc::AlwaysFits Question> void ask(const Question& question) {
        if (channel_) channel_->send(question);
    }

    // A request in parts: `next` sends one of them each time it is called. Several such requests take turns, and are
    // sent as fast as the service takes them, so that a short one never waits for a long one. A request replaces an
    // earlier one of the same number. The first part is sent from within.
    enum class Part : std::uint8_t { more, last };
    void ask_in_parts(std::uint64_t number, std::move_only_function<Part()> next) {
        if (!channel_) return;
        std::erase_if(long_, [&](const Long& each) { return each.number == number; });
        long_.push_back({number, std::move(next)});
        go_on();
    }

private:
    struct Long {
        std::uint64_t number = 0;
        std::move_only_function<Part()> next;
    };
    void go_on() {
        while (channel_ && !long_.empty() && !channel_->congested()) {
            auto one = std::move(long_.front());
            long_.pop_front();
            if (one.next() == Part::more) long_.push_back(std::move(one));
        }
    }
    void detach() {
        long_.clear();
        // The running callback may be the channel's own: it may be destroyed only when the turn ends.
        loop_.defer([gone = std::shared_ptr<ipc::Channel<Message>>(std::move(channel_))] {});
        callbacks_.down();
    }

    common::Loop& loop_;
    Callbacks callbacks_;
    std::unique_ptr<ipc::Channel<Message>> channel_;
    std::deque<Long> long_; // in the order of their turns
};

} // namespace queue_manager

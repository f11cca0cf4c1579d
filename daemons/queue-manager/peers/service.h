// A daemon that answers the queue-manager's questions: there, or not there right now. Knows its channel; must
// not know what is asked.
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
            [this] { go_on(); },
        });
        callbacks_.up();
    }

    bool present() const { return channel_ != nullptr; }

    // Nothing is said while nobody is there: the engine asks again when the service is up.
    template <class Question> [[nodiscard]] ipc::SendResult ask(const Question& question) {
        return channel_ ? channel_->send(question) : ipc::SendResult::not_open;
    }
    template <ipc::AlwaysFits Question> void ask(const Question& question) {
        if (channel_) channel_->send(question);
    }

    // A question in parts: `next` asks one of them each time it is called. Several such questions take turns, and are
    // asked as fast as the service takes them, so that a short one never waits for a long one. A question of the same
    // number takes the place of an earlier one. The first part is asked from within.
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
        // The callback that is running may be the channel's own: it may only go when the turn ends.
        loop_.defer([gone = std::shared_ptr<ipc::Channel<Message>>(std::move(channel_))] {});
        callbacks_.down();
    }

    common::Loop& loop_;
    Callbacks callbacks_;
    std::unique_ptr<ipc::Channel<Message>> channel_;
    std::deque<Long> long_; // whose turn is next first
};

} // namespace queue_manager

// Messages from a daemon to its server in order, possibly many at once (all results again
// on a new connection, a result for thousands of recipients): sent as the connection
// accepts them, so that its buffer stays small. Bounded by what the daemon keeps anyway.
#pragma once
#include "daemons/common/ipc/connector.h"
#include <deque>
#include <functional>
#include <utility>

namespace ipc {

template <class Message> class OrderedSender {
public:
    // `connector` calls drained() and lost() from its callbacks; it outlives this. `too_long` is called for a message
    // that fits no frame, which is left out.
    OrderedSender(Connector<Message>& connector, std::function<void()> too_long)
        : connector_(connector), too_long_(std::move(too_long)) {}

    // Behind everything said before. SendResult::not_open: the connection is down, and nothing is kept.
    template <class M> SendResult send(M message) {
        if (!connector_.up()) return SendResult::not_open;
        if (waiting_.empty() && !connector_.congested()) return put(message);
        waiting_.push_back([this, message = std::move(message)] {
            put(message);
            return Step::done;
        });
        return SendResult::yes;
    }

    enum class Step : std::uint8_t { done, more };
    // Calls `next`, which puts one message, until it is done, as the connection takes them.
    SendResult send_parts(std::move_only_function<Step()> next) {
        if (!connector_.up()) return SendResult::not_open;
        waiting_.push_back(std::move(next));
        drained();
        return SendResult::yes;
    }
    // For `next`.
    template <class M> SendResult put(const M& message) {
        SendResult sent = SendResult::yes;
        if constexpr (AlwaysFits<M>)
            sent = connector_.send(message) ? SendResult::yes : SendResult::not_open;
        else
            sent = connector_.send(message);
        if (sent == SendResult::too_long) too_long_();
        return sent;
    }

    void drained() {
        while (!waiting_.empty() && connector_.up() && !connector_.congested())
            if (waiting_.front()() == Step::done) waiting_.pop_front();
    }
    void lost() { waiting_.clear(); }

private:
    Connector<Message>& connector_;
    std::function<void()> too_long_;
    std::deque<std::move_only_function<Step()>> waiting_;
};

} // namespace ipc

// The typed end of a conversation: Channel<proto::submission::Message>. Sends messages of its variant
// and delivers those that arrive. An unknown or malformed message closes the connection with a reason.
#pragma once
#include "daemons/common/ipc/connection.h"
#include "daemons/common/ipc/message.h"
#include <cassert>
#include <functional>
#include <memory>

namespace ipc {

enum class SendResult : std::uint8_t {
    yes,      // it leaves at the end of the turn, if the connection lives that long
    not_open, // the connection is down
    too_long, // it fits no frame: nothing was sent
};

template <class Message> class Channel final : Connection::Sink {
public:
    // Each callback may destroy the channel, as the last thing it does.
    struct Callbacks {
        std::function<void(Message&&)> on_message;
        std::function<void(const std::string& reason)> on_closed; // once; never from within send()
        std::function<void()> on_drained = {};                    // congested() is over
    };

    // Takes over a connection whose Hello and Welcome are done.
    explicit Channel(std::unique_ptr<Connection> connection, Callbacks callbacks = {})
        : callbacks_(std::move(callbacks)), connection_(std::move(connection)) {
        connection_->attach(this);
    }

    void set_callbacks(Callbacks callbacks) { callbacks_ = std::move(callbacks); } // not from within one of them

    // A message that is too long for a frame is not sent, and the channel serves all others as before: the caller says
    // what becomes of the one it was about. To a channel that is closed nothing is sent (on_closed tells).
    template <class M> [[nodiscard]] SendResult send(const M& message) { return put(message); }
    template <AlwaysFits M> void send(const M& message) { static_cast<void>(put(message)); }

    std::size_t unsent() const { return connection_->unsent(); }
    bool congested() const { return connection_->congested(); }
    bool open() const { return connection_->open(); }
    Connection::Closing closing() const { return connection_->closing(); } // once on_closed is called
    void stop_reading() { connection_->stop_reading(); }
    void resume_reading() { connection_->resume_reading(); }
    // What the peer said is invalid here: on_closed follows with this reason.
    void fail(std::string reason) { connection_->fail(std::move(reason)); }

private:
    template <class M> SendResult put(const M& message) {
        if (!connection_->open()) return SendResult::not_open;
        encode<Message>(message, connection_->begin());
        return connection_->end() == Connection::Ended::framed ? SendResult::yes : SendResult::too_long;
    }
    void on_frame(std::string_view frame) override {
        auto message = decode<Message>(frame);
        if (!message) return connection_->fail("malformed message: " + message.error().why);
        if (callbacks_.on_message) callbacks_.on_message(*std::move(message));
    }
    void on_closed(const std::string& reason) override {
        if (callbacks_.on_closed) callbacks_.on_closed(reason);
    }
    void on_drained() override {
        if (callbacks_.on_drained) callbacks_.on_drained();
    }

    Callbacks callbacks_;
    std::unique_ptr<Connection> connection_;
};

} // namespace ipc

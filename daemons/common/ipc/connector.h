// The client end: connects to a server's local socket, sends Hello, keeps the
// connection up (50 ms to 2 s between attempts) and reports when it is up and down.
// While it is down, nothing is sent: the client sends everything again when it is up.
#pragma once
#include "daemons/common/ipc/channel.h"
#include "daemons/common/ipc/hello.h"
#include "daemons/common/logging/log.h"
#include "daemons/common/runtime/destroy_later.h"
#include "daemons/common/runtime/timer.h"
#include <functional>
#include <memory>
#include <string>

namespace ipc {

// The part without types: connects, greets, hands over, again and again.
class Dialer final : Connection::Sink {
public:
    // `path`: of the socket; `connected` takes over a connection that has been welcomed.
    Dialer(common::Loop& loop, common::Log& log, std::string path, std::string_view conversation, Identity identity,
           std::function<void(std::unique_ptr<Connection>)> connected);
    // Connect now, or, after a connection was lost, a little later.
    void start() { dial(); }
    void reconnect();
    // What was connected has come to its end: again, and a line in the log unless the peer just went.
    void connection_lost(const std::string& reason, Connection::Closing closing);

private:
    void dial();
    void failed(const std::string& reason);
    void on_frame(std::string_view frame) override;
    void on_closed(const std::string& reason) override;

    common::Loop& loop_;
    common::Log& log_;
    std::string path_, conversation_;
    Identity identity_;
    std::function<void(std::unique_ptr<Connection>)> connected_;
    common::Timer retry_;
    std::unique_ptr<Connection> connection_; // until welcomed
    int failures_ = 0;
};

template <class Message> class Connector {
public:
    struct Callbacks {
        std::function<void(Message&&)> on_message;
        std::function<void()> on_up = {};
        std::function<void(const std::string& reason)> on_down = {}; // what was sent may or may not have arrived
        std::function<void()> on_drained = {};
    };

    // Starts to connect at once; callbacks come from the loop.
    Connector(common::Loop& loop, common::Log& log, std::string path, std::string_view conversation, Identity identity,
              Callbacks callbacks)
        : loop_(loop), callbacks_(std::move(callbacks)),
          dialer_(loop, log, std::move(path), conversation, std::move(identity),
                  [this](std::unique_ptr<Connection> connection) { up_now(std::move(connection)); }) {
        dialer_.start();
    }
    Connector(const Connector&) = delete;
    Connector& operator=(const Connector&) = delete;

    bool up() const { return channel_ && channel_->open(); }
    // As Channel::send().
    template <class M> [[nodiscard]] SendResult send(const M& message) {
        return up() ? channel_->send(message) : SendResult::not_open;
    }
    template <AlwaysFits M> bool send(const M& message) { // false: the connection is down, nothing was sent
        if (up()) channel_->send(message);
        return up();
    }
    std::size_t unsent() const { return channel_ ? channel_->unsent() : 0; }
    bool congested() const { return channel_ && channel_->congested(); }
    void stop_reading() {
        if (channel_) channel_->stop_reading();
    }
    void resume_reading() {
        if (channel_) channel_->resume_reading();
    }
    // The peer sent invalid data: drop the connection (on_down follows) and connect again.
    void fail(std::string reason) {
        if (channel_) channel_->fail(std::move(reason));
    }

private:
    void up_now(std::unique_ptr<Connection> connection) {
        channel_ = std::make_unique<Channel<Message>>(std::move(connection),
                                                      typename Channel<Message>::Callbacks{
                                                          callbacks_.on_message,
                                                          [this](const std::string& reason) { down_now(reason); },
                                                          callbacks_.on_drained,
                                                      });
        if (callbacks_.on_up) callbacks_.on_up();
    }
    void down_now(std::string reason) { // a copy: the channel that names it goes now
        auto dead = std::move(channel_);
        dialer_.connection_lost(reason, dead->closing());
        if (callbacks_.on_down) callbacks_.on_down(reason);
        // The closure that is running belongs to `dead`: it may only go when the turn ends.
        common::destroy_later(loop_, std::move(dead));
    }

    common::Loop& loop_;
    Callbacks callbacks_;
    Dialer dialer_;
    std::unique_ptr<Channel<Message>> channel_;
};

} // namespace ipc

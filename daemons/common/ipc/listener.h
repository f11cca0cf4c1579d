// Accepts other daemons on a listening local socket. A client that sent a valid Hello is
// passed to the service of the conversation it asked for; any other is closed and logged.
#pragma once
#include "daemons/common/ipc/channel.h"
#include "daemons/common/ipc/hello.h"
#include "daemons/common/logging/log.h"
#include "daemons/common/net/acceptor.h"
#include "daemons/common/runtime/timer.h"
#include <functional>
#include <initializer_list>
#include <list>
#include <memory>

namespace ipc {

struct Peer {
    proto::Role role;
    std::uint32_t instance;
};

class Listener {
public:
    // `fd`: bound and listening.
    Listener(common::Loop& loop, common::Log& log, common::Fd fd, ExpectedTokens expected);
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    // listener.serve<proto::submission::Message>(proto::submission::conversation, {Role::smtpd, …},
    //     [](Peer peer, std::unique_ptr<Channel<…>> channel) { … });
    template <class Message>
    void serve(std::string_view conversation, std::initializer_list<proto::Role> roles,
               std::function<void(Peer, std::unique_ptr<Channel<Message>>)> accepted) {
        services_.push_back({conversation, roles, [accepted](Peer peer, std::unique_ptr<Connection> connection) {
                                 accepted(peer, std::make_unique<Channel<Message>>(std::move(connection)));
                             }});
    }
    void expect(ExpectedTokens expected) { expected_ = std::move(expected); }

private:
    struct Service {
        std::string_view conversation; // a literal
        std::vector<proto::Role> roles;
        std::function<void(Peer, std::unique_ptr<Connection>)> accepted;
    };
    class PendingConnection;
    void welcome(PendingConnection& greeting, const proto::hello::Hello& hello);
    void reject(PendingConnection& greeting, const std::string& why);

    common::Loop& loop_;
    common::Log& log_;
    ExpectedTokens expected_;
    std::vector<Service> services_;
    std::list<std::unique_ptr<PendingConnection>> pending_;
    common::TurnHook sweep_; // removes greetings that are over
    common::Acceptor acceptor_;
};

} // namespace ipc

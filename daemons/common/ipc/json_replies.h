// The replies to requests on a control socket, as the parts that answer them see it: whether a client asked on the
// socket or http passed its request on, they are answered alike. Knows the servers; must not know the requests.
#pragma once
#include "daemons/common/ipc/json_lines.h"
#include "daemons/common/ipc/json_relay.h"
#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

namespace ipc {

// As with JsonServer: any number of lines and one finish() or refuse(), now or later.
class JsonReplies {
    using Request = JsonServer::Request;
    template <class Use> auto with(const Request& request, Use use) const {
        return (request.peer & JsonRelay::mark) != 0 ? use(relay_) : use(server_);
    }

public:
    // Both outlive it.
    JsonReplies(JsonServer& server, JsonRelay& relay) : server_(server), relay_(relay) {}

    // False: the client has gone.
    bool send(const Request& request, const nlohmann::json& line) const {
        return with(request, [&](auto& server) { return server.send(request.peer, line); });
    }
    void finish(const Request& request) const {
        with(request, [&](auto& server) { server.finish(request.peer); });
    }
    // `code`: one word for programs (proto/control.h).
    void refuse(const Request& request, std::string_view error, std::string_view code = "bad-request") const {
        with(request, [&](auto& server) { server.refuse(request.peer, error, code); });
    }
    // Calls `room` when the client has read enough: now, if it is not congested; never if it disconnects.
    void when_writable(const Request& request, std::function<void()> room) const {
        with(request, [&](auto& server) {
            if (!server.congested(request.peer)) return room();
            server.on_writable(request.peer, std::move(room));
        });
    }
    void on_disconnect(const Request& request, std::function<void()> left) const {
        with(request, [&](auto& server) { server.on_disconnect(request.peer, std::move(left)); });
    }

private:
    JsonServer& server_;
    JsonRelay& relay_;
};

} // namespace ipc

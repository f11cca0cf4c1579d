// The replies to requests on run/control, as the parts that answer them see the socket; and the client's user name.
// Requests that http passes on are answered alike. Knows the servers; must not know the requests.
#pragma once
#include "daemons/common/ipc/json_lines.h"
#include "daemons/common/ipc/json_relay.h"
#include "libspool/disk/commit_pool.h"
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace queue_manager {

using Request = ipc::JsonServer::Request;

// As with JsonServer: any number of lines and one finish() or refuse(), now or later.
class Replies {
    template <class Use> auto with(const Request& request, Use use) const {
        return (request.peer & ipc::JsonRelay::mark) != 0 ? use(relay_) : use(server_);
    }

public:
    Replies(ipc::JsonServer& server, ipc::JsonRelay& relay) : server_(server), relay_(relay) {}

    // False: the client has gone.
    bool send(const Request& request, const nlohmann::json& line) const {
        return with(request, [&](auto& server) { return server.send(request.peer, line); });
    }
    void finish(const Request& request) const {
        with(request, [&](auto& server) { server.finish(request.peer); });
    }
    // `code`: one word for programs (proto/control.h).
    void refuse(const Request& request, std::string_view error, std::string_view code) const {
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
    ipc::JsonServer& server_;
    ipc::JsonRelay& relay_;
};

// Calls `then` with the client's user name, looked up on a thread, or the name of the token that http was given.
void with_user_name(spool::CommitPool& pool, const Request& request, std::function<void(std::string who)> then);

} // namespace queue_manager

// The replies to requests on run/control, as the parts that answer them see the socket; and the client's user name.
// Knows the socket's server; must not know the requests.
#pragma once
#include "daemons/common/ipc/json_lines.h"
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
public:
    explicit Replies(ipc::JsonServer& server) : server_(server) {}

    // False: the client has gone.
    bool send(const Request& request, const nlohmann::json& line) const { return server_.send(request.peer, line); }
    void finish(const Request& request) const { server_.finish(request.peer); }
    // `code`: one word for programs (proto/control.h).
    void refuse(const Request& request, std::string_view error, std::string_view code) const {
        server_.refuse(request.peer, error, code);
    }
    // Calls `room` when the client has read enough: now, if it is not congested; never if it disconnects.
    void when_writable(const Request& request, std::function<void()> room) const {
        if (!server_.congested(request.peer)) return room();
        server_.on_writable(request.peer, std::move(room));
    }
    void on_disconnect(const Request& request, std::function<void()> left) const {
        server_.on_disconnect(request.peer, std::move(left));
    }

private:
    ipc::JsonServer& server_;
};

// Calls `then` with the client's user name, looked up on a thread.
void with_user_name(spool::CommitPool& pool, const Request& request, std::function<void(std::string who)> then);

} // namespace queue_manager

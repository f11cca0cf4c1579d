// The operations of a control socket as other daemons ask for them on behalf of their own clients
// (proto/relayed_control.h): the server's end, with the same answers as JsonServer. The peers are authenticated
// daemons; what they may ask for is limited nevertheless. Knows no operations.
#pragma once
#include "daemons/common/ipc/channel.h"
#include "daemons/common/ipc/json_lines.h"
#include "daemons/common/logging/log.h"
#include "daemons/common/proto/relayed_control.h"
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace ipc {

class JsonRelay {
public:
    using Channel = ipc::Channel<proto::relayed_control::Message>;
    using Allowed = std::function<bool(std::string_view operation)>;

    static constexpr std::size_t most_peers = 64, max_unread = JsonServer::max_unread;
    // Of the numbers of its peers, which are none of a JsonServer's.
    static constexpr std::uint64_t mark = std::uint64_t{1} << 63;

    JsonRelay(common::Loop& loop, common::Log& log, JsonServer::Handler handler, Allowed allowed);
    ~JsonRelay();
    JsonRelay(const JsonRelay&) = delete;
    JsonRelay& operator=(const JsonRelay&) = delete;

    void attach(std::unique_ptr<Channel> channel);

    // As with JsonServer.
    bool send(std::uint64_t peer, const nlohmann::json& line);
    bool finish(std::uint64_t peer);
    bool refuse(std::uint64_t peer, std::string_view error, std::string_view code = "bad-request");
    bool congested(std::uint64_t peer) const;
    void on_writable(std::uint64_t peer, std::function<void()> room);
    void on_disconnect(std::uint64_t peer, std::function<void()> left);

private:
    struct Peer {
        std::unique_ptr<Channel> channel;
        bool busy = false;
        std::function<void()> room, left;
    };
    Peer* find(std::uint64_t peer);
    void take(std::uint64_t number, const proto::relayed_control::Request& request);
    void drained(std::uint64_t number);
    void forget(std::uint64_t number);

    common::Loop& loop_;
    common::Log& log_;
    JsonServer::Handler handler_;
    Allowed allowed_;
    std::uint64_t last_ = 0;
    std::map<std::uint64_t, Peer> peers_;
};

} // namespace ipc

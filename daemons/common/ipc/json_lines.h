// The JSON-lines protocol of the control sockets (run/control, run/master), both sides.
//   client:  {"version":1,"op":"status", …}\n     one request at a time
//   server:  {…}\n {…}\n … {"done":true}\n        or {"done":true,"error":"what, in plain words","code":"word"}
// The server streams with back-pressure, identifies the client by the kernel's credentials, and limits what it reads
// and keeps. The client is for commands: it blocks, with a time limit.
#pragma once
#include "daemons/common/ipc/operators.h"
#include "daemons/common/logging/log.h"
#include "daemons/common/net/acceptor.h"
#include "daemons/common/net/local_socket.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/common/runtime/timer.h"
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace ipc {

inline constexpr int json_version = 1;

// "status", "hold id=…": for the log, which escapes and cuts it.
std::string text_of_request(const nlohmann::json& body);

class JsonServer {
public:
    struct Request {
        std::uint64_t peer; // for send() and finish(); may be kept: a peer that has gone is simply unknown
        common::Credentials credentials;
        std::string who = {}; // on whose behalf a daemon asks: "token shop"; "": it is the user of the credentials
    };
    // Answer with any number of send()s and one finish() or refuse(), now or later; meanwhile further requests of the
    // peer wait. `body` is an object of the right version with a string "op".
    using Handler = std::function<void(const Request& request, const nlohmann::json& body)>;

    // `fd`: bound and listening. Only `operators` are answered; all others are rejected at the first request. Every
    // request is logged ("control: uid=0 status"). A client that reads nothing for `timeout` is disconnected.
    JsonServer(common::Loop& loop, common::Log& log, common::Fd fd, common::Operators operators, Handler handler,
               smtp::Duration timeout = default_timeout);
    ~JsonServer();
    JsonServer(const JsonServer&) = delete;
    JsonServer& operator=(const JsonServer&) = delete;

    // One line. False: the peer has gone.
    bool send(std::uint64_t peer, const nlohmann::json& line);
    bool finish(std::uint64_t peer);
    // `code`: an error code for programs (proto/control.h).
    bool refuse(std::uint64_t peer, std::string_view error, std::string_view code = "bad-request");
    // True: wait for on_writable() before sending more.
    bool congested(std::uint64_t peer) const;
    // `room` is called once when the peer has read enough; never when it disconnects.
    void on_writable(std::uint64_t peer, std::function<void()> room);
    // `left` is called once if the peer disconnects before its request is answered (one that has only ended its sending
    // side still waits: shutdown(2)); finish() and refuse() drop it. Not called if the request is already answered.
    void on_disconnect(std::uint64_t peer, std::function<void()> left);

    static constexpr std::size_t max_request = 1024 * 1024; // a configuration fits in
    static constexpr std::size_t high_water = 256 * 1024, max_peers = 100;
    // A peer that reads nothing for this long, or has this much unread, is disconnected, and that is logged.
    static constexpr smtp::Duration default_timeout = std::chrono::minutes(1);
    static constexpr std::size_t max_unread = 64 << 20;

private:
    class Session;
    void admit(common::Fd socket);
    Session* find(std::uint64_t peer) const;
    void forget(std::uint64_t peer);
    void handle(Session& session, std::uint64_t peer, std::string_view line);

    common::Loop& loop_;
    common::Log& log_;
    common::Operators operators_;
    Handler handler_;
    const smtp::Duration timeout_;
    std::uint64_t last_ = 0;
    std::map<std::uint64_t, std::unique_ptr<Session>> sessions_;
    common::Acceptor acceptor_;
};

class JsonClient {
public:
    static spool::Result<JsonClient> connect(const std::string& path);
    // Sends {"version":1,"op":op, …fields}; each answer line goes to `on_line`. An error from the server, silence for
    // `seconds` or an end before "done" is an Error.
    spool::Result<> ask(const nlohmann::json& request, const std::function<void(const nlohmann::json&)>& on_line,
                        int seconds = 30);
    // The server's code for the error of the last ask(); "" if the error was not the server's.
    const std::string& refusal() const { return refusal_; }

private:
    explicit JsonClient(common::Fd fd) : fd_(std::move(fd)) {}
    common::Fd fd_;
    std::string in_, refusal_;
};

} // namespace ipc

// HTTP/1.1 on one listening socket. libmicrohttpd implements the protocol, driven by our loop; number, memory and
// duration of connections are bounded, so that a client that asks too much, sends too slowly or reads too slowly only
// hurts itself. Knows no routes and no users.
#pragma once
#include "daemons/common/runtime/fd.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/common/web/exchange.h"
#include "daemons/common/web/message.h"
#include "libsmtp/text/time_types.h"
#include "libspool/disk/result.h"
#include <cstdint>
#include <expected>
#include <memory>
#include <string>

namespace web {

// What servers of one process may use for bodies of requests, together.
class BodyMemory {
public:
    explicit BodyMemory(std::uint64_t limit) : limit_(limit) {}
    void set_limit(std::uint64_t limit) { limit_ = limit; }
    bool take(std::uint64_t bytes) {
        if (bytes > limit_ || used_ > limit_ - bytes) return false;
        used_ += bytes;
        return true;
    }
    void give_back(std::uint64_t bytes) { used_ -= bytes; }

private:
    std::uint64_t limit_, used_ = 0;
};

// Answered before its body is read.
struct Rejection {
    Response response;
    smtp::Duration delay{}; // before it is sent
};

class Handler {
public:
    // The header is there: how many bytes the body may have, or an answer. Nothing else happens to a request that is
    // answered here.
    virtual std::expected<std::uint64_t, Rejection> begin(const Request& request) = 0;
    // The request is complete: to be answered now or later.
    virtual void handle(std::shared_ptr<Exchange> exchange) = 0;
    // The answer to a request that is not valid; `why`: a line for the client.
    virtual Response reject(unsigned status, std::string_view why) = 0;

protected:
    ~Handler() = default;
};

struct ServerLimits {
    unsigned connections = 100;
    std::uint32_t per_client = 0;                     // of these; 0: no limit
    smtp::Duration header = std::chrono::seconds(15); // from the beginning of a connection
    smtp::Duration idle = std::chrono::seconds(75);   // from the end of an answer to the end of the next header
    smtp::Duration grace = std::chrono::seconds(20);  // for a body or an answer, besides its size at this speed:
    std::uint64_t bytes_per_second = 16 * 1024;
};

// Of HTTPS: PEM. Without a chain connections are plain text.
struct Certificate {
    std::string chain, key;
    bool only_tls_1_3 = false; // TLS 1.2 is not accepted
    bool operator==(const Certificate&) const = default;
};

class Server {
public:
    static constexpr std::size_t most_delayed = 100;        // further ones get an answer at once
    static constexpr std::size_t header_memory = 32 * 1024; // of a connection: header of request and answer

    // `fd`: bound, listening, non-blocking. `handler` and `memory` outlive it.
    static spool::Result<std::unique_ptr<Server>> open(common::Loop& loop, common::Fd fd, Handler& handler,
                                                       BodyMemory& memory, const ServerLimits& limits = {},
                                                       const Certificate& certificate = {});
    ~Server(); // closes all connections
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    // Accepts no further connections; those that exist are served on.
    void close();
    std::size_t open_requests() const; // that are being received or answered

private:
    struct Daemon;
    explicit Server(std::unique_ptr<Daemon> daemon);
    std::unique_ptr<Daemon> daemon_;
};

} // namespace web

// HTTP for scrapers and probes: GET of the pages that it is given, and / with a hint; anything else is rejected.
// libmicrohttpd implements the protocol, driven by our loop; the number, memory and duration of connections are
// bounded, so that a client that asks too much or reads too slowly only hurts itself. Knows nothing about metrics.
#pragma once
#include "daemons/common/runtime/fd.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/metrics/page.h"
#include "libspool/disk/result.h"
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace metrics {

class HttpServer {
public:
    // Collects what the pages show; calls `done` once, at once or in a later turn.
    using Collect = std::function<void(std::function<void()> done)>;
    using Pages = std::map<std::string, std::function<Page()>, std::less<>>; // by path; made after a collection

    static constexpr unsigned max_connections = 32, patience_seconds = 10;

    // `fd`: bound, listening, non-blocking.
    static spool::Result<std::unique_ptr<HttpServer>> open(common::Loop& loop, common::Fd fd, Pages pages,
                                                           Collect collect);
    ~HttpServer(); // closes the connections that still wait
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

private:
    struct Server;
    explicit HttpServer(std::unique_ptr<Server> server);
    std::unique_ptr<Server> server_;
};

} // namespace metrics

// HTTP for scrapers: GET /metrics, and / with a hint; anything else is rejected. libmicrohttpd implements the
// protocol, driven by our loop; the number, memory and duration of connections are bounded, so that a client that
// scrapes too much or too slowly only hurts itself. Knows nothing about metrics: Ask provides the text.
#pragma once
#include "daemons/common/runtime/fd.h"
#include "daemons/common/runtime/loop.h"
#include "libspool/disk/result.h"
#include <functional>
#include <memory>
#include <string>

namespace metrics {

class HttpServer {
public:
    // Calls `answer` once with the text, at once or in a later turn.
    using Ask = std::function<void(std::function<void(const std::string& text)> answer)>;

    static constexpr unsigned max_connections = 32, patience_seconds = 10;

    // `fd`: bound, listening, non-blocking. `content_type`: of the text.
    static spool::Result<std::unique_ptr<HttpServer>> open(common::Loop& loop, common::Fd fd, std::string content_type,
                                                           Ask ask);
    ~HttpServer(); // closes the connections that still wait
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

private:
    struct Server;
    explicit HttpServer(std::unique_ptr<Server> server);
    std::unique_ptr<Server> server_;
};

} // namespace metrics

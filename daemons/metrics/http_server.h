// HTTP for those who scrape: GET /metrics, and / with a hint; anything else is refused. libmicrohttpd speaks the
// protocol, driven by our loop; connections, their memory and their patience are bounded, so that whoever scrapes too
// much or too slowly only hurts himself. Knows nothing of metrics: whom it asks for the text answers when it has it.
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
    ~HttpServer(); // who still waits is hung up on
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

private:
    struct Server;
    explicit HttpServer(std::unique_ptr<Server> server);
    std::unique_ptr<Server> server_;
};

} // namespace metrics

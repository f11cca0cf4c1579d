// HTTP for those who scrape: GET /metrics, and / with a hint; anything else is refused. libmicrohttpd speaks the
// protocol, driven by our loop; connections, their memory and their patience are bounded, so that whoever scrapes too
// much or too slowly only hurts himself. Knows nothing of figures: whom it asks for the text answers when it has it.
#pragma once
#include "daemons/common/runtime/fd.h"
#include "daemons/common/runtime/loop.h"
#include "libspool/disk/result.h"
#include <functional>
#include <memory>
#include <string>

namespace metrics {

class Web {
public:
    // Calls `answer` once with the text, at once or in a later turn.
    using Ask = std::function<void(std::function<void(const std::string& text)> answer)>;

    static constexpr unsigned most_connections = 32, patience_seconds = 10;

    // `fd`: bound, listening, non-blocking. `content_type`: of the text.
    static spool::Result<std::unique_ptr<Web>> open(common::Loop& loop, common::Fd fd, std::string content_type,
                                                    Ask ask);
    ~Web(); // who still waits is hung up on
    Web(const Web&) = delete;
    Web& operator=(const Web&) = delete;

private:
    struct Server;
    explicit Web(std::unique_ptr<Server> server);
    std::unique_ptr<Server> server_;
};

} // namespace metrics

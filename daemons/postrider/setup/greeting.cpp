#include "daemons/postrider/setup/greeting.h"
#include "daemons/common/net/client_stream.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/postrider/setup/run_until.h"
#include <algorithm>

namespace postrider::setup {

namespace {

constexpr std::size_t longest_line = 512;

} // namespace

std::expected<std::string, std::string> greeting_of(common::Loop& loop, const common::Endpoint& server) {
    std::string line, error;
    bool done = false, closed = false;
    const auto finish = [&] {
        done = true;
        loop.stop();
    };
    common::Timer timeout(loop, [&] {
        error = "no greeting within 15 s";
        finish();
    });
    timeout.start(greeting_timeout);
    common::ClientStream stream(loop, {.path = "", .endpoint = server},
                                {[&](std::string_view bytes) {
                                     line += bytes;
                                     if (line.find('\n') != line.npos || line.size() > longest_line) finish();
                                 },
                                 [&](const std::string& why) {
                                     error = why;
                                     closed = true;
                                     finish();
                                 }});
    run_until(loop, done);
    const auto greeting = line.substr(0, std::min(line.find_first_of("\r\n"), longest_line));
    if (greeting.empty()) return std::unexpected(error);
    if (!greeting.starts_with("2")) return std::unexpected("unexpected greeting: " + greeting);
    if (!closed) { // in good manners
        done = false;
        stream.on_drained(finish);
        stream.send("QUIT\r\n");
        run_until(loop, done);
    }
    return greeting;
}

} // namespace postrider::setup

#include "daemons/master/system/service_status.h"
#include <algorithm>
#include <fmt/format.h>

namespace master {

std::string text_of(const Standing& standing) {
    constexpr std::string_view stages[] = {"starting", "running", "taking over the configuration", "stopping"};
    std::string text(stages[static_cast<std::size_t>(standing.stage)]);
    const bool running = standing.stage == Standing::Stage::running;
    if (running) text += ": " + (standing.queue.empty() ? fmt::format("{} processes", standing.processes) : standing.queue);
    if (!standing.waiting_for.empty())
        text += fmt::format("{} {}", running ? "; not running:" : ": waiting for", standing.waiting_for);
    // A line is what systemd takes: words of others are made one.
    std::ranges::replace_if(text, [](unsigned char c) { return c < 0x20 || c == 0x7F; }, ' ');
    if (text.size() > max_standing) {
        auto end = max_standing - 3;
        while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end; // whole characters
        text = text.substr(0, end) + "...";
    }
    return text;
}

} // namespace master

#include "daemons/master/system/service_status.h"
#include <algorithm>
#include <fmt/format.h>

namespace master {

std::string text_of(const ServiceStatus& status) {
    constexpr std::string_view stages[] = {"starting", "running", "applying the configuration", "stopping"};
    std::string text(stages[static_cast<std::size_t>(status.stage)]);
    const bool running = status.stage == ServiceStatus::Stage::running;
    if (running) text += ": " + (status.queue.empty() ? fmt::format("{} processes", status.processes) : status.queue);
    if (!status.waiting_for.empty())
        text += fmt::format("{} {}", running ? "; not running:" : ": waiting for", status.waiting_for);
    // A line is what systemd takes: words of others are made one.
    std::ranges::replace_if(text, [](unsigned char c) { return c < 0x20 || c == 0x7F; }, ' ');
    if (text.size() > max_status_text) {
        auto end = max_status_text - 3;
        while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end; // whole characters
        text = text.substr(0, end) + "...";
    }
    return text;
}

} // namespace master

#include "daemons/postrider/service/health.h"
#include "daemons/common/proto/hello.h"
#include "daemons/common/terminal/text.h"
#include <algorithm>
#include <fmt/format.h>

namespace postrider {

using nlohmann::json;

namespace {

constexpr std::string_view running = "running"; // the state of master and of its processes

// The first that does not run; nullptr: they all do.
const json* first_not_running(const json& processes) {
    const auto found =
        std::ranges::find_if(processes, [](const json& each) { return text_of(each, "state") != running; });
    return found == processes.end() ? nullptr : &*found;
}

bool has_server(const json& processes) {
    return std::ranges::any_of(processes, [](const json& each) {
        return text_of(each, "role") == proto::name_of(proto::Role::smtpd) && text_of(each, "state") == running;
    });
}

std::string fault_of(const StatusData& data) {
    if (const auto state = text_of(data.master, "state"); state != running) return "it is " + state;
    if (!data.queue.is_object()) return fmt::format("the queue-manager does not answer ({})", data.queue_error);
    if (const auto* process = first_not_running(data.processes)) {
        const auto problem = text_of(*process, "problem");
        return fmt::format("{} is {}{}{}", text_of(*process, "process"), text_of(*process, "state"),
                           problem.empty() ? "" : ": ", problem);
    }
    return "";
}

std::string not_ready_of(const StatusData& data) {
    if (const auto state = text_of(data.master, "state"); state != running) return "it is " + state;
    if (!data.queue.is_object()) return fmt::format("the queue-manager does not answer ({})", data.queue_error);
    if (!flag_of(data.queue, "accepting")) return text_of(data.queue, "accepting_reason");
    return has_server(data.processes) ? "" : "no SMTP server is running";
}

} // namespace

Health health_of(const StatusData* data) {
    if (!data) return {.fault = "it is not running", .not_ready = "it is not running", .text = ""};
    Health health{.fault = fault_of(*data), .not_ready = not_ready_of(*data), .text = ""};
    if (data->queue.is_object()) health.text = count_text(number_of(data->queue, "messages"), "message") + " queued";
    return health;
}

std::string health_line(const Health& health, bool ready) {
    const auto& reason = ready ? health.not_ready : health.fault;
    const std::string_view word = ready ? "ready" : "healthy";
    std::string line =
        reason.empty() ? std::string(word) : fmt::format("{}{}: {}", ready ? "not " : "un", word, reason);
    if (!ready && reason.empty() && !health.not_ready.empty()) line += "; accepts no mail: " + health.not_ready;
    if (!health.text.empty()) line += "; " + health.text;
    return line;
}

} // namespace postrider

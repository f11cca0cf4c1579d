// status: master's facts about processes joined with the queue-manager's about mail, on a page that is easy to read
// at three in the morning.
#include "daemons/postrider/service/status.h"
#include "daemons/common/proto/control.h"
#include "daemons/common/terminal/text.h"
#include "daemons/postrider/command/command.h"
#include "daemons/postrider/service/health.h"
#include <algorithm>
#include <ctime>
#include <fmt/format.h>

namespace postrider {

using nlohmann::json;

namespace {

constexpr std::string_view states[] = {"due",    "active",  "retrying", "scheduled", "held",
                                       "paused", "routing", "new",      "report"};
// What each of them means, for users who have not read the manual.
constexpr std::string_view state_texts[] = {"due",    "being delivered", "retrying", "scheduled",        "held",
                                            "paused", "being routed",    "new",      "awaiting a report"};

class Page {
public:
    Page(std::int64_t now, std::size_t width) : now_(now), width_(width) {}

    void field(std::string_view name, std::string text) { line(fmt::format("{:<12}{}", name, text)); }
    void line(const std::string& text) { out_ += truncated(text, width_) + "\n"; }
    void raw(const std::string& text) { out_ += text; }
    std::int64_t since(std::int64_t then) const { return std::max<std::int64_t>(0, now_ - then); }
    std::string when(std::int64_t time) const {
        if (time <= 0) return "-";
        return time <= now_ ? "now" : age_text(time - now_);
    }
    std::size_t width() const { return width_; }
    std::string text() && { return std::move(out_); }

private:
    std::int64_t now_;
    std::size_t width_;
    std::string out_;
};

std::string yes_or_reason(const json& queue, const char* what, const char* why) {
    if (flag_of(queue, what)) return "yes";
    const auto text = text_of(queue, why);
    return text.empty() ? "NO" : "NO: " + text;
}

std::string rate_text(const json& rates, const char* which) {
    const auto found = rates.find(which);
    return fmt::format("{:.1f}", found != rates.end() && found->is_number() ? found->get<double>() : 0.0);
}

void add_queue(Page& page, const json& q) {
    const auto messages = number_of(q, "messages");
    auto text = count_text(messages, "message");
    if (flag_of(q, "loading")) text += " so far: the spool is still being read";
    const auto oldest = q.find("oldest");
    if (oldest != q.end() && oldest->is_object() && number_of(*oldest, "arrival") > 0)
        text += fmt::format("; the oldest arrived {} ago ({})",
                            duration_text(page.since(number_of(*oldest, "arrival"))), text_of(*oldest, "id"));
    page.field("Queue", text);
    std::string counts;
    const auto by_state = q.value("states", json::object());
    for (std::size_t n = 0; n < std::size(states); ++n)
        if (const auto count = number_of(by_state, std::string(states[n]).c_str()); count > 0)
            counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, state_texts[n]);
    if (!counts.empty()) page.field("", counts);
    if (const auto rates = q.find("rates"); rates != q.end() && rates->is_object()) {
        const auto drain = number_of(q, "drain_seconds");
        const auto ready = number_of(by_state, "due") + number_of(by_state, "active");
        page.field("Rates", fmt::format("{}/s in, {}/s out over the last minute{}", rate_text(*rates, "in"),
                                        rate_text(*rates, "out"),
                                        messages == 0               ? ""
                                        : ready == 0                ? "; nothing is due"
                                        : !flag_of(q, "delivering") ? "; no new deliveries are started"
                                        : drain < 0                 ? "; nothing leaves"
                                                    : "; estimated drain time: " + duration_text(drain)));
    }
    if (const auto list = q.find("suppression"); list != q.end() && list->is_object()) {
        const auto entries = number_of(*list, "entries"), today = number_of(*list, "automatic_today");
        const auto error = text_of(*list, "error");
        if (!error.empty())
            page.field("Suppressed", "not readable, mail waits: " + error);
        else if (entries > 0)
            page.field("Suppressed", fmt::format("{} on the list; {} added by rejections today", entries, today));
    }
    for (const auto& each : list_of(q, "retained")) {
        const auto there = number_of(each, "messages"), removed = number_of(each, "deleted");
        if (there + removed == 0) continue;
        if (text_of(each, "directory") == "removed") {
            if (there > 0)
                page.field("Removed", fmt::format("{} can still be restored (\"postrider message restore\")",
                                                  count_text(there, "message")));
            continue;
        }
        if (text_of(each, "directory") == "failed") {
            if (there > 0)
                page.field("Failed", fmt::format("{} can be sent again (\"postrider message resend\"), {} bytes",
                                                 count_text(there, "message"), number_of(each, "bytes")));
            continue;
        }
        page.field("Quarantine",
                   fmt::format("{} in {}/, {} bytes{}", there, text_of(each, "directory"), number_of(each, "bytes"),
                               removed == 0 ? ""
                                            : fmt::format("; {} deleted since the start because of age or size limits",
                                                          removed)));
    }
    for (const auto& pause : list_of(q, "pauses")) {
        const auto name = text_of(pause, "name"), why = text_of(pause, "reason");
        page.field("Paused",
                   fmt::format("{}{}{} by {}, {} ago{}", text_of(pause, "scope"), name.empty() ? "" : " ", name,
                               text_of(pause, "by"), duration_text(page.since(number_of(pause, "since"))),
                               why.empty() ? "" : ": " + why));
    }
}

// The problem of a link: its failure, or addresses of its pool that the site rejects.
std::string link_problem(const json& link) {
    const auto& resting = list_of(link, "backing_off");
    const auto own = text_of(link, "waiting_for"); // of messages, while the link itself has no problem
    if (!flag_of(link, "paused") && text_of(link, "last_error").empty() && resting.empty() &&
        number_of(link, "due") == 0 && !own.empty())
        return own;
    if (flag_of(link, "paused") || !text_of(link, "last_error").empty() || resting.empty()) return wait_reason(link);
    const auto& first = resting.front();
    const auto more = resting.size() > 1 ? fmt::format(" (and {} more)", resting.size() - 1) : "";
    return fmt::format("{}{} is backing off: {}", text_of(first, "source"), more, text_of(first, "reason"));
}

void add_links(Page& page, const json& q) {
    Table table(
        {"Link", "State", ">Overdue", ">Waiting", ">Queued", ">Conn", "Next attempt", ">Failures", "Why it waits"});
    for (const auto& link : list_of(q, "links")) {
        const auto failures = number_of(link, "failures");
        table.row({text_of(link, "link"), flag_of(link, "paused") ? "paused" : text_of(link, "state"),
                   std::to_string(number_of(link, "due")), std::to_string(number_of(link, "waiting")),
                   std::to_string(number_of(link, "deliveries")), std::to_string(number_of(link, "connections")),
                   page.when(number_of(link, "next_attempt")), failures > 0 ? std::to_string(failures) : "",
                   link_problem(link)});
    }
    if (const auto rest = q.value("other_links", json::object()); number_of(rest, "links") > 0)
        table.row({count_text(number_of(rest, "links"), "more link"), "", std::to_string(number_of(rest, "due")),
                   std::to_string(number_of(rest, "waiting")), std::to_string(number_of(rest, "deliveries")), "", "",
                   "", "\"postrider link list\" shows them"});
    if (table.empty()) return;
    page.line("");
    page.line("Links, most overdue first:");
    page.raw(table.text(page.width(), "  "));
}

// What mail at that gate waits for.
std::string gate_name(const std::string& gate, const std::string& queue) {
    if (gate == "route") return queue.empty() ? "next hops" : "the next hop of " + queue;
    return gate == "report" ? "a report" : "the " + gate;
}

// Waiting mail that no link shows.
void add_unrouted(Page& page, const json& q) {
    Table table({"Waits for", ">Queued", "Since", "Next attempt", ">Failures", "Why"});
    for (const auto& mail : list_of(q, "unrouted")) {
        const auto gate = text_of(mail, "gate"), error = text_of(mail, "last_error");
        const auto failures = number_of(mail, "failures"), since = number_of(mail, "failing_since");
        table.row({gate_name(gate, text_of(mail, "queue")), std::to_string(number_of(mail, "deliveries")),
                   since > 0 ? duration_text(page.since(since)) : "-", page.when(number_of(mail, "next_attempt")),
                   failures > 0 ? std::to_string(failures) : "", error.empty() ? text_of(mail, "waiting_for") : error});
    }
    if (table.empty()) return;
    page.line("");
    page.line("Mail without a link:");
    page.raw(table.text(page.width(), "  "));
}

void add_processes(Page& page, const json& list) {
    Table table({"Process", ">Pid", "State", "Since", ">Restarts", "Confined", ""});
    for (const auto& p : list)
        table.row({text_of(p, "process"), std::to_string(number_of(p, "pid")), text_of(p, "state"),
                   duration_text(page.since(number_of(p, "since"))), std::to_string(number_of(p, "restarts")),
                   text_of(p, "confinement"), text_of(p, "problem")});
    if (table.empty()) return;
    page.line("");
    page.raw(table.text(page.width(), "  "));
}

// A health check has the patience of a probe: silence for longer is a fault.
constexpr int health_patience = 5;

// --brief, --ready: a line, and 0 or 1.
int report_health(const Arguments& arguments, const spool::Result<StatusData>& data) {
    auto health = health_of(data ? &*data : nullptr);
    if (!data && !is_not_running(data.error())) health.fault = health.not_ready = data.error().what;
    const bool ready = arguments.has("--ready");
    if (arguments.json)
        print_json({{"version", 1},
                    {"healthy", health.fault.empty()},
                    {"ready", health.not_ready.empty()},
                    {"fault", health.fault},
                    {"not_ready_reason", health.not_ready}});
    else
        fmt::print("{}\n", health_line(health, ready));
    return (ready ? health.not_ready : health.fault).empty() ? ok : unhealthy;
}

} // namespace

spool::Result<StatusData> fetch_status(const config::Spool& spool, int seconds) {
    StatusData data;
    data.processes = json::array();
    auto master = TRY(connect_control(spool, "master"));
    const auto take = [&](const json& line) {
        if (line.value("process", "") == "master")
            data.master = line;
        else
            data.processes.push_back(line);
    };
    TRY(master.ask({{"op", "status"}}, take, seconds));
    const auto asked = [&]() -> spool::Result<> {
        auto queue = TRY(connect_control(spool, "control"));
        return queue.ask({{"op", proto::control::op::status}}, [&](const json& line) { data.queue = line; }, 5);
    }();
    if (!asked) data.queue_error = asked.error().what;
    return data;
}

std::string status_page(const StatusData& data, std::int64_t now, std::size_t width) {
    Page page(now, width);
    const auto& master = data.master;
    page.line(fmt::format("postrider is {} for {} (pid {}), {}configuration {} (generation {})",
                          text_of(master, "state"), duration_text(page.since(number_of(master, "since"))),
                          number_of(master, "pid"), flag_of(master, "single_user") ? "single-user mode, " : "",
                          text_of(master, "file"), number_of(master, "generation")));
    page.line("");
    if (data.queue.is_object()) {
        page.field("Accepting", yes_or_reason(data.queue, "accepting", "accepting_reason"));
        page.field("Delivering", yes_or_reason(data.queue, "delivering", "delivering_reason"));
        add_queue(page, data.queue);
    } else {
        page.field("Queue", fmt::format("the queue-manager does not answer ({}); master restarts it if it has crashed",
                                        data.queue_error));
    }
    for (const auto& warning : list_of(master, "warnings"))
        if (warning.is_string()) page.field("Warning", warning.get<std::string>());
    if (data.queue.is_object()) {
        for (const auto& problem : list_of(data.queue, "problems"))
            if (problem.is_string()) page.field("Problem", problem.get<std::string>());
        add_unrouted(page, data.queue);
        add_links(page, data.queue);
    }
    add_processes(page, data.processes);
    return std::move(page).text();
}

int status(const Arguments& arguments) {
    const auto config = load_effective_config(arguments);
    if (!config) return bad_config;
    const bool brief = arguments.has("--brief") || arguments.has("--ready");
    const auto data = brief ? fetch_status(config->spool, health_patience) : fetch_status(config->spool);
    if (brief) return report_health(arguments, data);
    if (!data && arguments.json && is_not_running(data.error())) {
        print_json({{"version", 1}, {"running", false}});
        return not_running;
    }
    if (!data) return report_socket_error(data.error(), config->mta);
    if (arguments.json) {
        json out = {{"version", 1},
                    {"running", true},
                    {"master", data->master},
                    {"processes", data->processes},
                    {"queue", data->queue}};
        for (auto* each : {&out["master"], &out["queue"]})
            if (each->is_object()) each->erase("process");
        print_json(out);
        return ok;
    }
    fmt::print("{}", status_page(*data, std::time(nullptr), terminal_width()));
    return ok;
}

} // namespace postrider

// status: master's facts about processes joined with the queue-manager's about mail.
#include "daemons/postrider/command.h"
#include <chrono>
#include <ctime>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace postrider {

using nlohmann::json;

namespace {

struct Facts {
    json master, processes = json::array(), queue; // queue: null if the queue-manager does not answer
    std::string queue_silence;                     // why
};

spool::Result<Facts> gather(const config::Config& config) {
    Facts facts;
    auto master = TRY(ask_at(config, "master"));
    TRY(master.ask({{"op", "status"}}, [&](const json& line) {
        if (line.value("process", "") == "master") facts.master = line;
        else facts.processes.push_back(line);
    }));
    const auto asked = [&]() -> spool::Result<> {
        auto queue = TRY(ask_at(config, "control"));
        return queue.ask({{"op", "status"}}, [&](const json& line) { facts.queue = line; }, 5);
    }();
    if (!asked) facts.queue_silence = asked.error().what;
    return facts;
}

std::int64_t number(const json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_number() ? found->get<std::int64_t>() : 0;
}

std::string text(const json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::int64_t seconds_since(std::int64_t then) { return std::max<std::int64_t>(0, std::time(nullptr) - then); }

void print_queue(const Facts& facts) {
    if (facts.queue.is_null()) {
        fmt::print("\nQueue: the queue-manager does not answer ({})\n", facts.queue_silence);
        return;
    }
    const auto& q = facts.queue;
    fmt::print("\nQueue: {} messages{}; recipients: {} being delivered, {} due, {} waiting, {} held\n", number(q, "messages"),
               q.value("loading", false) ? " (still reading the spool)" : "", number(q, "active"), number(q, "due"),
               number(q, "waiting"), number(q, "held"));
    const auto links = q.find("links");
    if (links == q.end() || !links->is_array() || links->empty()) return;
    fmt::print("\nNext hops with problems:\n");
    for (const auto& link : *links) {
        const auto next = number(link, "next_attempt") - std::time(nullptr);
        fmt::print("  {}: {}, {} failures, {} due, next attempt {}\n", text(link, "link"), text(link, "state"),
                   number(link, "failures"), number(link, "due"), next > 0 ? "in " + duration_text(next) : "now");
        if (!text(link, "last_error").empty()) fmt::print("      {}\n", text(link, "last_error"));
    }
}

void print_processes(const Facts& facts) {
    fmt::print("\n{:<16} {:>8}  {:<10} {:<14} {}\n", "Process", "Pid", "State", "Since", "Started again");
    for (const auto& p : facts.processes) {
        fmt::print("{:<16} {:>8}  {:<10} {:<14} {}\n", text(p, "process"), number(p, "pid"), text(p, "state"),
                   duration_text(seconds_since(number(p, "since"))), number(p, "restarts"));
        if (!text(p, "trouble").empty()) fmt::print("    {}\n", text(p, "trouble"));
    }
}

} // namespace

int status(const Arguments& arguments) {
    const auto config = load_config(arguments);
    if (!config) return bad_config;
    const auto facts = gather(*config);
    if (!facts && arguments.json && means_not_running(facts.error())) {
        fmt::print("{}\n", json{{"version", 1}, {"running", false}}.dump());
        return not_running;
    }
    if (!facts) return explain(facts.error());
    if (arguments.json) {
        json out = {{"version", 1}, {"running", true}, {"master", facts->master}, {"processes", facts->processes}, {"queue", facts->queue}};
        for (auto* each : {&out["master"], &out["queue"]})
            if (each->is_object()) each->erase("process");
        fmt::print("{}\n", out.dump(-1, ' ', false, json::error_handler_t::replace));
        return ok;
    }
    const auto& master = facts->master;
    fmt::print("postrider is {} for {} (pid {}), {}configuration {} (generation {})\n", text(master, "state"),
               duration_text(seconds_since(number(master, "since"))), number(master, "pid"),
               master.value("single_user", false) ? "single-user mode, " : "", text(master, "file"),
               number(master, "generation"));
    if (!text(master, "warning").empty()) fmt::print("{}\n", text(master, "warning"));
    print_queue(*facts);
    print_processes(*facts);
    return ok;
}

} // namespace postrider

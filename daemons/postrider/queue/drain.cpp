#include "daemons/postrider/queue/drain.h"
#include "daemons/common/proto/control.h"
#include "daemons/common/terminal/text.h"
#include "daemons/postrider/command/command.h"
#include <charconv>
#include <chrono>
#include <cstdint>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

namespace postrider {

using nlohmann::json;
namespace op = proto::control::op;

namespace {

// "500/s", or "500".
std::optional<std::uint32_t> messages_per_second(std::string_view text) {
    if (text.ends_with("/s")) text.remove_suffix(2);
    std::uint32_t rate = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rate);
    if (error != std::errc() || end != text.data() + text.size() || rate == 0) return {};
    return rate;
}

json names_in(std::string_view list) {
    json out = json::array();
    while (!list.empty()) {
        const auto comma = std::min(list.find(','), list.size());
        if (comma > 0) out.push_back(list.substr(0, comma));
        list.remove_prefix(std::min(comma + 1, list.size()));
    }
    return out;
}

void print_progress(const json& line) {
    if (!flag_of(line, "draining")) {
        fmt::print("this node is not being drained\n");
        return;
    }
    std::string targets;
    for (const auto& each : line["to"]) {
        const auto failed = number_of(each, "failed");
        targets += fmt::format("{}{} to {}{}", targets.empty() ? "" : ", ", number_of(each, "moved"),
                               text_of(each, "node"), failed > 0 ? fmt::format(" ({} failed)", failed) : "");
    }
    const auto in_doubt = number_of(line, "in_doubt");
    fmt::print("{}: moved {}; {} on the way{}, {} left\n", flag_of(line, "finished") ? "drained" : "draining", targets,
               number_of(line, "under_way"), in_doubt > 0 ? fmt::format(" ({} in doubt)", in_doubt) : "",
               number_of(line, "left"));
}

void show(const Arguments& a, const json& line) {
    if (!a.json) return print_progress(line);
    auto out = line;
    out["version"] = 1;
    print_json(out);
}

// Until nothing is left that could be moved.
int wait_for_end(const Arguments& a) {
    for (;;) {
        bool over = false;
        const int status = ask_queue(a, {{"op", op::drain_status}}, [&](const json& line) {
            over = !flag_of(line, "draining") || flag_of(line, "finished");
            show(a, line);
        });
        if (status != ok || over) return status;
        std::this_thread::sleep_for(std::chrono::seconds(1));
    }
}

} // namespace

int drain(const Arguments& a) {
    const auto to = a.option("--to");
    if (a.has("--cancel")) {
        if (to || !a.words.empty()) return fail(usage, "--cancel takes no other arguments");
        const int status = ask_queue(a, {{"op", op::drain_cancel}}, [](const json&) {});
        if (status == ok && !a.json) fmt::print("the drain is canceled: mail is accepted again\n");
        if (status == ok && a.json) print_json({{"version", 1}, {"draining", false}});
        return status;
    }
    if (!to) {
        if (!a.words.empty()) return fail(usage, "expected --to NODE,NODE");
        if (a.has("--wait")) return wait_for_end(a);
        return ask_queue(a, {{"op", op::drain_status}}, [&](const json& line) { show(a, line); });
    }
    json request = {{"op", op::drain}, {"to", names_in(*to)}};
    if (const auto reason = a.option("--reason")) request["reason"] = *reason;
    if (const auto rate = a.option("--rate")) {
        const auto number = messages_per_second(*rate);
        if (!number)
            return fail(usage, fmt::format("--rate: expected a number of messages per second such as 500/s, not \"{}\"",
                                           *rate));
        request["rate"] = *number;
    }
    if (!a.words.empty()) {
        const auto selector = parse_selector(a.words);
        if (!selector) return usage;
        if (!selector->ids.empty())
            return fail(usage, "expected filter words; \"postrider message move\" takes queue ids");
        request["filter"] = selector->filter;
    }
    const int status = ask_queue(a, request, [&](const json& line) {
        if (!a.has("--wait")) show(a, line);
    });
    return status == ok && a.has("--wait") ? wait_for_end(a) : status;
}

} // namespace postrider

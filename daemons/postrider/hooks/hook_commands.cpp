#include "daemons/postrider/hooks/hook_commands.h"
#include "daemons/common/proto/control.h"
#include "daemons/common/proto/hook_control.h"
#include "daemons/common/terminal/text.h"
#include "daemons/postrider/command/command.h"
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace postrider {

using nlohmann::json;
namespace op = proto::hook_control::op;

namespace {

constexpr int longest_test = 330; // seconds: more than the longest hook.timeout

int exit_status_of(std::string_view refusal) {
    namespace code = proto::control::code;
    if (refusal == code::unknown || refusal == code::no_match) return not_found;
    if (refusal == code::already) return already_so;
    if (refusal == code::loading) return try_again;
    return refusal == code::bad_request ? usage : unavailable;
}

// Sends a request to the events process. An error is printed. Returns the exit status.
int ask_hooks(const Arguments& arguments, const json& request, const std::function<void(const json&)>& on_line,
              int seconds = 30) {
    const auto config = load_effective_config(arguments);
    if (!config) return bad_config;
    if (!config->history.enabled)
        return fail(unavailable, "history.enabled is false: without a journal there are no hooks");
    auto events = connect_control(config->spool, "hooks");
    if (!events) return report_socket_error(events.error(), config->mta);
    const auto done = events->ask(request, on_line, seconds);
    if (done) return ok;
    if (events->refusal().empty()) return report_socket_error(done.error(), config->mta);
    return fail(exit_status_of(events->refusal()), done.error().what);
}

json request_of(std::string_view operation, const Arguments& arguments) {
    return {{"op", operation}, {"hook", arguments.words.front()}};
}

// One that answers nothing but success.
int change(const Arguments& arguments, const json& request, const std::string& done) {
    const int status = ask_hooks(arguments, request, [](const json&) {});
    if (status != ok) return status;
    if (arguments.json)
        print_json({{"version", 1}, {"hook", arguments.words.front()}});
    else
        fmt::print("hook {} {}\n", arguments.words.front(), done);
    return ok;
}

std::string waits_text(const json& line) {
    if (const auto reason = text_of(line, "reason"); !reason.empty()) return reason;
    const auto answer = text_of(line, "last_answer");
    if (text_of(line, "state") != "failing") return text_of(line, "problem");
    const auto wait = number_of(line, "next_attempt");
    return wait > 0 ? fmt::format("{}; next attempt in {}", answer, duration_text(wait)) : answer;
}

} // namespace

int hook_list(const Arguments& arguments) {
    Table table({"Hook", "State", ">Behind", "Oldest", ">Pushed", ">Dead", "Reason"});
    const int status = ask_hooks(arguments, {{"op", op::list}}, [&](const json& line) {
        if (arguments.json) return print_json(line);
        const auto oldest = text_of(line, "oldest");
        table.row({text_of(line, "hook"), text_of(line, "state"), fmt::format("{}", number_of(line, "behind")),
                   oldest.empty() ? "-" : oldest.substr(0, oldest.find('.')),
                   fmt::format("{}", number_of(line, "pushed")), fmt::format("{}", number_of(line, "dead")),
                   waits_text(line)});
    });
    if (status != ok || arguments.json) return status;
    if (table.empty())
        fmt::print("no hooks are configured\n");
    else
        fmt::print("{}", table.text(terminal_width()));
    return ok;
}

int hook_test(const Arguments& arguments) {
    json answer;
    const int status =
        ask_hooks(arguments, request_of(op::test, arguments), [&](const json& line) { answer = line; }, longest_test);
    if (status != ok) return status;
    const bool accepted = flag_of(answer, "accepted");
    if (arguments.json)
        print_json({{"version", 1},
                    {"hook", arguments.words.front()},
                    {"accepted", accepted},
                    {"answer", text_of(answer, "answer")}});
    else
        fmt::print("hook {}: the test event is {}: {}\n", arguments.words.front(),
                   accepted ? "accepted" : "not accepted", text_of(answer, "answer"));
    return accepted ? ok : unfit;
}

int hook_pause(const Arguments& arguments) {
    return change(arguments, request_of(op::pause, arguments), "is paused; its events are kept for the time in hold");
}

int hook_resume(const Arguments& arguments) {
    return change(arguments, request_of(op::resume, arguments), "is resumed, and sends at once");
}

int hook_skip(const Arguments& arguments) {
    auto request = request_of(op::skip, arguments);
    const bool all = arguments.has("--all");
    if (all) request["all"] = true;
    std::int64_t skipped = 0;
    const int status = ask_hooks(arguments, request, [&](const json& line) { skipped = number_of(line, "skipped"); });
    if (status != ok) return status;
    if (arguments.json)
        print_json({{"version", 1}, {"hook", arguments.words.front()}, {"skipped", skipped}});
    else if (all)
        fmt::print("hook {} skips {}, and continues with the next one that is written\n", arguments.words.front(),
                   count_text(skipped, "event"));
    else
        fmt::print("hook {} skips event {}; \"postrider hook dead {}\" shows it\n", arguments.words.front(), skipped,
                   arguments.words.front());
    return ok;
}

int hook_replay(const Arguments& arguments) {
    const auto number = arguments.number("--start-at");
    if (!number || *number == 0)
        return fail(usage, "hook replay needs --start-at NUMBER, the number of the event to begin with; \"postrider "
                           "history\" with --json or --events shows numbers");
    auto request = request_of(op::replay, arguments);
    request["start_at"] = *number;
    return change(arguments, request, fmt::format("continues with event {}", *number));
}

int hook_dead(const Arguments& arguments) {
    const auto config = load_effective_config(arguments);
    if (!config) return bad_config;
    const auto& name = arguments.words.front();
    if (name.find('/') != name.npos) return fail(usage, fmt::format("\"{}\" is not a valid name of a hook", name));
    const auto path = fmt::format("{}/dead/{}.jsonl", config->history.path(config->spool.directory), name);
    std::ifstream file(path);
    if (!file && errno == ENOENT) {
        const auto cursor = fmt::format("{}/cursors/{}", config->history.path(config->spool.directory), name);
        if (access(cursor.c_str(), F_OK) != 0) return fail(not_found, fmt::format("there is no hook \"{}\"", name));
        if (!arguments.json) fmt::print("hook {} has given up no event\n", name);
        return ok;
    }
    if (!file)
        return fail(errno == EACCES ? no_permission : disk_error, fmt::format("{}: {}", path, std::strerror(errno)));
    Table table({">Event", "Type", "Recipient", "Given up", "Reason"});
    bool damaged = false;
    for (std::string line; std::getline(file, line);) {
        const auto letter = json::parse(line, nullptr, false);
        if (!letter.is_object() || !letter.contains("event")) {
            damaged = damaged || !line.empty();
            continue;
        }
        if (arguments.json) {
            print_json(letter);
            continue;
        }
        const auto& event = letter["event"];
        table.row({fmt::format("{}", number_of(event, "seq")), text_of(event, "type"), text_of(event, "recipient"),
                   text_of(letter, "time"), text_of(letter, "reason")});
    }
    if (!arguments.json) fmt::print("{}", table.text(terminal_width()));
    return damaged ? fail(data_error, fmt::format("{}: some lines are not whole", path)) : ok;
}

} // namespace postrider

#include "daemons/events/hooks/hook_control.h"
#include "daemons/common/proto/control.h"
#include "daemons/common/proto/hook_control.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <utility>

namespace events {

using decide::hooks::HookState;
using nlohmann::json;
namespace op = proto::hook_control::op;
namespace code = proto::control::code;

namespace {

constexpr std::size_t longest_why = 200;

std::string_view state_of(const Hook& hook) {
    if (!hook.loaded()) return "starting";
    const auto& progress = hook.delivery()->progress();
    switch (progress.state) {
    case HookState::paused: return "paused";
    case HookState::switched_off: return "off";
    case HookState::delivering: break;
    }
    return progress.failures + progress.refusals > 0 ? "failing" : "delivering";
}

// Of the event that is sent next; 0: none waits.
std::uint64_t waiting_event(const Hook& hook) {
    return hook.loaded() && !hook.delivery()->events().empty() ? hook.delivery()->events().front().number : 0;
}

std::string oldest_of(const Hook& hook) {
    if (!hook.loaded() || hook.delivery()->events().empty()) return "";
    const auto line = spool::parse_line(hook.delivery()->events().front().line);
    return line ? std::string(spool::time_of(*line)) : "";
}

json line_of(const Hook& hook, std::uint64_t published) {
    const auto& settings = hook.settings();
    json out = {
        {"hook", settings.name},
        {"target", settings.url.empty() ? fmt::format("{}", fmt::join(settings.command, " ")) : settings.url},
        {"state", state_of(hook)},
        {"published", published},
        {"behind", hook.behind()},
        {"oldest", oldest_of(hook)},
        {"event", waiting_event(hook)},
        {"next_attempt", std::chrono::ceil<std::chrono::seconds>(hook.wait(common::Loop::now().monotonic)).count()},
        {"last_answer", hook.last_answer()},
        {"problem", hook.problem()},
        {"pushed", hook.counts().pushed},
        {"failed", hook.counts().failed},
        {"dead", hook.counts().dead}};
    const auto progress = hook.loaded() ? hook.delivery()->progress() : decide::hooks::HookProgress{.next = 0};
    out["next"] = progress.next;
    out["reason"] = progress.reason;
    out["failures"] = progress.failures;
    out["failing_since"] = progress.failing_since;
    return out;
}

std::string text_in(const json& body, const char* name) {
    const auto found = body.find(name);
    return found != body.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// An attacker in control of http cannot do more.
bool is_for_http(std::string_view operation) {
    constexpr std::string_view all[] = {op::list, op::test, op::pause, op::resume, op::skip, op::replay};
    return std::ranges::find(all, operation) != std::end(all);
}

std::string name_of(const HookControl::Request& request) {
    if (!request.who.empty()) return request.who;
    return request.credentials.uid == 0 ? "root" : fmt::format("uid {}", request.credentials.uid);
}

// "token boss", "token boss: maintenance"
std::string name_and_why(const HookControl::Request& request, const json& body) {
    const auto why = smtp::printable(text_in(body, "why"), longest_why);
    return why.empty() ? name_of(request) : fmt::format("{}: {}", name_of(request), why);
}

} // namespace

HookControl::HookControl(common::DaemonContext& context, Hooks& hooks, common::Fd fd, common::Operators operators,
                         Others others)
    : hooks_(hooks), others_(std::move(others)),
      server_(context.loop, context.log, std::move(fd), std::move(operators),
              [this](const Request& request, const json& body) { handle(request, body); }),
      relay_(
          context.loop, context.log, [this](const Request& request, const json& body) { handle(request, body); },
          is_for_http) {}

void HookControl::handle(const Request& request, const json& body) {
    const auto operation = text_in(body, "op"), name = text_in(body, "hook");
    if (operation == op::list) return list(request);
    if (others_(server_, request, body)) return;
    const auto found = hooks_.all().find(name);
    if (found == hooks_.all().end() && !hooks_.is_configured(name)) {
        replies_.refuse(request, fmt::format("there is no hook \"{}\"", name), code::unknown);
        return;
    }
    if (found == hooks_.all().end() || !found->second->loaded()) {
        const auto problem = found == hooks_.all().end() ? std::string() : found->second->problem();
        replies_.refuse(request,
                        fmt::format("the cursor of hook {} has not been read yet: {}", name,
                                    problem.empty() ? "try again" : problem),
                        code::loading);
        return;
    }
    auto& hook = *found->second;
    const auto who = name_and_why(request, body);
    if (operation == op::test) return test(request, hook, who);
    if (operation == op::skip) return skip(request, body, hook, who);
    if (operation == op::replay) return replay(request, body, hook, who);
    const auto state = hook.delivery()->progress().state;
    if (operation == op::pause) {
        if (state != HookState::delivering) {
            replies_.refuse(request,
                            fmt::format("hook {} does not send already: {}", name, hook.delivery()->progress().reason),
                            code::already);
            return;
        }
        hook.pause(who);
    } else if (operation == op::resume) {
        hook.resume(who);
    } else {
        replies_.refuse(request, fmt::format("unknown operation \"{}\"", operation));
        return;
    }
    replies_.finish(request);
}

void HookControl::list(const Request& request) {
    for (const auto& [name, hook] : hooks_.all()) replies_.send(request, line_of(*hook, hooks_.published()));
    replies_.finish(request);
}

void HookControl::test(const Request& request, Hook& hook, const std::string& who) {
    const auto started = hook.endpoint()->test(who, [this, request](const auto& answer) {
        replies_.send(request, {{"accepted", verdict_of(answer) == decide::hooks::Verdict::accepted},
                                {"answer", text_of(answer)}});
        replies_.finish(request);
    });
    if (!started)
        replies_.refuse(request, fmt::format("hook {0} runs a command: test it with \"postrider journal cat | {1}\"",
                                             hook.settings().name, fmt::join(hook.settings().command, " ")));
}

void HookControl::skip(const Request& request, const json& body, Hook& hook, const std::string& who) {
    const auto event = body.find("event");
    if (event != body.end() && *event != waiting_event(hook)) {
        replies_.refuse(
            request,
            fmt::format("event {} is not the one that hook {} sends next", event->dump(), hook.settings().name),
            code::already);
        return;
    }
    if (body.value("all", false)) {
        const auto behind = hook.behind();
        hook.restart_at(hooks_.published() + 1, who);
        replies_.send(request, {{"skipped", behind}});
        replies_.finish(request);
        return;
    }
    const auto number = hook.skip(who);
    if (!number) {
        replies_.refuse(request, fmt::format("no event waits for hook {}", hook.settings().name), code::no_match);
        return;
    }
    replies_.send(request, {{"skipped", *number}});
    replies_.finish(request);
}

void HookControl::replay(const Request& request, const json& body, Hook& hook, const std::string& who) {
    const auto found = body.find("start_at");
    const bool valid = found != body.end() && found->is_number_unsigned();
    const auto number = valid ? found->get<std::uint64_t>() : 0;
    const auto last = hooks_.published() + 1;
    if (number == 0 || number > last) {
        replies_.refuse(request, fmt::format("expected the number of an event, from 1 to {}", last));
        return;
    }
    hook.restart_at(number, who);
    replies_.finish(request);
}

} // namespace events

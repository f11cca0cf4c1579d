// The commands that change something: messages by ids or filter words; pause, resume and force of queues, links,
// pools or everything. The queue-manager has it durable before it answers.
#include "daemons/postrider/queue/modify_commands.h"
#include "daemons/common/proto/control.h"
#include "daemons/common/terminal/text.h"
#include "daemons/common/text/units.h"
#include "daemons/postrider/command/command.h"
#include "daemons/postrider/command/message_selector.h"
#include "libsmtp/text/date.h"
#include <algorithm>
#include <array>
#include <chrono>
#include <fmt/format.h>
#include <iostream>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace postrider {

using nlohmann::json;
namespace op = proto::control::op;

namespace {

json request_with_reason(std::string_view op, const Arguments& arguments) {
    json out = {{"op", op}};
    if (const auto why = arguments.option("--reason")) out["reason"] = *why;
    return out;
}

// Sums up what the requests came to: with many ids there are several.
struct ChangeCounts {
    std::int64_t matched = 0, changed = 0, would_change = 0, skipped = 0;
    std::int64_t in_flight = 0;       // of those skipped: could not be removed, for they are being delivered
    std::int64_t kept = 0;            // of what was to be tried: by a pause
    json not_changed = json::array(); // "id", "why" of some of those skipped
    void add(const json& line) {
        matched += number_of(line, "matched");
        changed += number_of(line, "changed");
        would_change += number_of(line, "would_change");
        skipped += number_of(line, "skipped");
        in_flight += number_of(line, "in_flight");
        kept += number_of(line, "still_paused");
        if (const auto named = line.find("not_changed"); named != line.end())
            not_changed.insert(not_changed.end(), named->begin(), named->end());
    }
};

int change_messages(const Arguments& arguments, std::span<const std::string> words, json base, std::string_view done) {
    const auto selector = parse_selector(words);
    if (!selector) return usage;
    if (selector->selects_all())
        return fail(usage, "no messages given: expected queue ids, filter words (sender=, recipient=, "
                           "domain=, link=, age=, size=, state=, reason=), or all");
    const bool dry = arguments.has("--dry-run");
    if (dry) base["dry_run"] = true;
    ChangeCounts total;
    int worst = ok;
    for (const auto& request : selector->requests(base))
        if (const int status = ask_queue(arguments, request, [&](const json& line) { total.add(line); }); status != ok)
            worst = status;
    if (worst != ok && total.matched == 0) return worst;
    json answer = {{"version", 1},
                   {"matched", total.matched},
                   {"changed", total.changed},
                   {"would_change", total.would_change},
                   {"skipped", total.skipped},
                   {"in_flight", total.in_flight},
                   {"still_paused", total.kept},
                   {"dry_run", dry}};
    if (!total.not_changed.empty()) answer["not_changed"] = total.not_changed;
    if (arguments.json)
        print_json(answer);
    else if (dry)
        fmt::print("{} would be {}{}; nothing was changed\n", count_text(total.would_change, "message"), done,
                   total.skipped > 0 ? fmt::format(", {} not (no change needed)", total.skipped) : "");
    else
        fmt::print(
            "{} {}{}{}\n", count_text(total.changed, "message"), done,
            total.skipped > 0 ? fmt::format(", {} not (no change needed, or no longer queued)", total.skipped) : "",
            total.kept > 0 ? fmt::format("; {} of them only after \"postrider resume\", because they are paused (see "
                                         "\"postrider status\")",
                                         total.kept)
                           : "");
    for (const auto& each : total.not_changed)
        print_error(fmt::format("{} {}", text_of(each, "id"), text_of(each, "why")));
    if (!total.not_changed.empty()) return already_so;
    if (total.in_flight == 0 || worst != ok) return worst;
    print_error(fmt::format("{} being delivered and could no longer be stopped: not {}",
                            total.in_flight == 1 ? "1 message is" : fmt::format("{} messages are", total.in_flight),
                            done));
    return already_so;
}

int change_selected(const Arguments& arguments, std::string_view op, std::string_view done) {
    return change_messages(arguments, arguments.words, request_with_reason(op, arguments), done);
}

// "link NAME", "queue NAME", "pool NAME", "all".
int change_scope(const Arguments& arguments, std::string_view op, std::string_view done) {
    const auto& words = arguments.words;
    const bool all = words[0] == "all" || words[0] == "everything";
    if (!all && words[0] != "link" && words[0] != "queue" && words[0] != "pool")
        return fail(usage,
                    fmt::format("\"{}\" is not valid: expected queue NAME, link NAME, pool NAME or all", words[0]));
    if (all != (words.size() == 1))
        return fail(usage, all ? "\"all\" must not be followed by a name"
                               : fmt::format("the name of the {} is missing", words[0]));
    auto request = request_with_reason(op, arguments);
    request["scope"] = all ? "everything" : words[0];
    request["name"] = all ? "" : words[1];
    bool mail = true;
    std::string kept_by; // to be tried, but paused
    const int status = ask_queue(arguments, request, [&](const json& line) {
        mail = flag_of(line, "has_mail");
        kept_by = text_of(line, "paused_by");
    });
    if (status != ok) return status;
    if (arguments.json)
        print_json({{"version", 1},
                    {"scope", request["scope"]},
                    {"name", request["name"]},
                    {"has_mail", mail},
                    {"paused_by", kept_by},
                    {"action", done}});
    else if (const auto what = all ? "everything" : fmt::format("{} {}", words[0], truncated(words[1], 400));
             !kept_by.empty())
        fmt::print("{} will be tried when it is resumed: {}\n", what, truncated(kept_by, 1000));
    else
        fmt::print("{} {}{}\n", what, done, mail ? "" : "; there is no mail for it now");
    return ok;
}

} // namespace

int pause(const Arguments& a) { return change_scope(a, op::pause, "is paused"); }
int resume(const Arguments& a) { return change_scope(a, op::resume, "is resumed"); }
int force(const Arguments& a) { return change_scope(a, op::force, "is tried now"); }

int message_hold(const Arguments& a) { return change_selected(a, op::hold, "held"); }
int message_release(const Arguments& a) { return change_selected(a, op::release, "released"); }

// Filter words may select more than the user expects: above a number of messages, confirmation is required.
int message_remove(const Arguments& a) {
    constexpr std::int64_t confirmation_threshold = 100;
    auto request = request_with_reason(op::remove, a);
    if (a.has("--permanently")) request["permanently"] = true;
    const bool needs_confirmation =
        !a.has("--yes") && !a.has("--dry-run") && std::ranges::find(a.words, "-") == a.words.end();
    const auto selector = needs_confirmation ? parse_selector(a.words) : std::nullopt;
    if (needs_confirmation && !selector) return usage;
    if (selector && !selector->filter.empty()) {
        ChangeCounts total;
        auto count = request;
        count["dry_run"] = true;
        for (const auto& each : selector->requests(count))
            if (const int status = ask_queue(a, each, [&](const json& line) { total.add(line); }); status != ok)
                return status;
        if (total.would_change > confirmation_threshold && ::isatty(0) == 0)
            return fail(usage, fmt::format("{} would be removed: to confirm, repeat the command with --yes",
                                           count_text(total.would_change, "message")));
        if (total.would_change > confirmation_threshold) {
            std::cerr << fmt::format("{} would be removed without a report to the sender. Continue? [y/N] ",
                                     count_text(total.would_change, "message"));
            std::string answer;
            if (!std::getline(std::cin, answer) || (answer != "y" && answer != "yes")) {
                print_error("nothing was removed");
                return ok;
            }
        }
    }
    return change_messages(a, a.words, std::move(request), "removed");
}

int message_restore(const Arguments& a) {
    const auto selector = parse_selector(a.words);
    if (!selector) return usage;
    const bool all = selector->filter == std::vector<std::string>{"all"};
    if (selector->ids.empty() && !all) return fail(usage, "no messages given: expected queue ids, or all");
    const json base = {{"op", op::restore}};
    auto requests = all ? std::vector<json>{base} : selector->requests(base);
    if (all) requests.front()["all"] = true;
    ChangeCounts total;
    int worst = ok;
    for (const auto& each : requests)
        if (const int status = ask_queue(a, each, [&](const json& line) { total.add(line); }); status != ok)
            worst = status;
    if (worst != ok && total.changed == 0) return worst;
    if (a.json)
        print_json(
            {{"version", 1}, {"matched", total.matched}, {"changed", total.changed}, {"skipped", total.skipped}});
    else
        fmt::print("{} restored{}\n", count_text(total.changed, "message"),
                   total.skipped > 0 ? fmt::format(", {} not (no longer there)", total.skipped) : "");
    return worst;
}

int message_retry(const Arguments& a) { return change_selected(a, op::force, "tried now"); }

int message_expire(const Arguments& a) {
    auto request = request_with_reason(op::expire, a);
    const auto after = a.option("--after");
    if (!after) return change_messages(a, a.words, std::move(request), "expired");
    const auto life = config::parse_duration(*after);
    if (!life || *life < std::chrono::seconds(1))
        return fail(usage, fmt::format("--after {}: expected a duration of at least 1s, such as 2d", *after));
    request["after"] = std::chrono::ceil<std::chrono::seconds>(*life).count();
    return change_messages(a, a.words, std::move(request), "set to expire after " + *after);
}

int message_requeue(const Arguments& a) {
    auto request = request_with_reason(op::requeue, a);
    if (const auto policy = a.option("--policy")) request["policy"] = *policy;
    return change_messages(a, a.words, std::move(request), "requeued");
}

int message_reroute(const Arguments& a) {
    auto request = request_with_reason(op::reroute, a);
    const bool back = a.words[0] == "back";
    request["to"] = back ? "" : a.words[0];
    return change_messages(a, std::span(a.words).subspan(1), std::move(request),
                           back ? "returned to the usual route" : "rerouted to " + a.words[0]);
}

int message_priority(const Arguments& a) {
    constexpr std::array<std::string_view, 3> lanes = {"high", "normal", "bulk"};
    if (std::ranges::find(lanes, a.words[0]) == lanes.end())
        return fail(usage, fmt::format("\"{}\" is not valid: expected high, normal or bulk", a.words[0]));
    auto request = request_with_reason(op::reprioritise, a);
    request["lane"] = a.words[0];
    return change_messages(a, std::span(a.words).subspan(1), std::move(request), "moved to the lane " + a.words[0]);
}

int message_move(const Arguments& a) {
    const auto to = a.option("--to");
    if (to.has_value() == a.has("--cancel")) return fail(usage, "expected either --to NODE or --cancel");
    if (to) {
        auto request = request_with_reason(op::move, a);
        request["to"] = *to;
        return change_messages(a, a.words, std::move(request), "being moved to " + *to);
    }
    auto request = request_with_reason(op::move_back, a);
    if (a.has("--in-doubt")) request["in_doubt"] = true;
    return change_messages(a, a.words, std::move(request), "kept here");
}

int message_schedule(const Arguments& a) {
    const auto now = std::chrono::floor<smtp::Duration>(std::chrono::system_clock::now());
    const auto at = a.words[0] == "now" ? now : config::parse_time(a.words[0], now);
    if (!at)
        return fail(usage,
                    fmt::format("\"{}\" is not valid: expected a time such as 2026-12-01T08:00:00Z, a span such as "
                                "2h, or now",
                                a.words[0]));
    const bool later = *at > now;
    auto request = request_with_reason(op::schedule, a);
    if (later) request["at"] = std::chrono::duration_cast<std::chrono::seconds>(at->time_since_epoch()).count();
    return change_messages(a, std::span(a.words).subspan(1), std::move(request),
                           later ? "set to be sent at " + smtp::rfc3339_date(*at) : "set to be sent now");
}

} // namespace postrider

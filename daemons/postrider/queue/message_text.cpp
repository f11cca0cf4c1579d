#include "daemons/postrider/queue/message_text.h"
#include "daemons/common/terminal/text.h"
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace postrider {

using nlohmann::json;

namespace {

void print_attempts(const json& recipient) {
    for (const auto& a : list_of(recipient, "attempts")) {
        const auto count = number_of(a, "count");
        const auto times = count > 1 ? fmt::format(" … {} ({} times)", time_text(number_of(a, "last")), count) : "";
        const auto code = number_of(a, "code");
        auto text = text_of(a, "text");
        if (code > 0 && !text.starts_with(std::to_string(code)))
            text = fmt::format("{} {} {}", code, text_of(a, "status"), text);
        const auto host = text_of(a, "host"), tls = text_of(a, "tls"), stage = text_of(a, "stage");
        fmt::print("    {}{}  {}\n", time_text(number_of(a, "first")), times, text_of(a, "outcome"));
        const auto source = text_of(a, "source");
        fmt::print("        {}{}{}{}{}\n", host.empty() ? "no host" : truncated(host, 300),
                   source.empty() ? "" : " from " + source,
                   tls.empty()     ? ""
                   : tls == "none" ? ", TLS none"
                                   : ", " + truncated(tls, 100),
                   stage.empty() || stage == "none" ? "" : ", at " + stage,
                   flag_of(a, "in_doubt") ? ", in doubt: it may have arrived" : "");
        if (!text.empty()) fmt::print("        {}\n", truncated(text, 2000));
    }
}

// Each try of a link is made for one message or for none, and none is blamed for it.
void print_link_failures(const json& recipient) {
    const auto failures = list_of(recipient, "link_failures");
    if (failures.empty()) return;
    fmt::print("    failed attempts of its link since it arrived, not counted against it:\n");
    for (const auto& each : failures)
        fmt::print("    {}  at {}\n        {}\n", time_text(number_of(each, "time")), text_of(each, "phase"),
                   truncated(text_of(each, "text"), 2000));
}

// "bulk (sender_rules.rules[2])": a lane or pool, and what has chosen it.
std::string chosen_text(const json& m, const std::string& what) {
    const auto value = text_of(m, what.c_str()), by = text_of(m, (what + "_chosen_by").c_str());
    return value.empty() || by.empty() ? value : fmt::format("{} ({})", value, by);
}

} // namespace

void print_field(std::string_view name, const std::string& value) {
    if (!value.empty()) fmt::print("{:<13} {}\n", name, truncated(value, 2000));
}

std::string source_backoff_text(const json& each) {
    return fmt::format("{} until {}: {}", text_of(each, "source"), time_text(number_of(each, "until")),
                       truncated(text_of(each, "reason"), 1000));
}

void print_recipients(const json& m) {
    for (const auto& r : list_of(m, "recipients")) {
        const auto original = text_of(r, "original"), address = text_of(r, "address");
        fmt::print("\nRecipient <{}>{}\n", truncated(address, 400),
                   original.empty() || original == address
                       ? ""
                       : fmt::format(" (addressed as <{}>)", truncated(original, 400)));
        const auto next = number_of(r, "next_attempt");
        fmt::print("    {}{}{}{}{}\n", text_of(r, "state"),
                   text_of(r, "queue").empty() ? "" : ", queue " + text_of(r, "queue"),
                   text_of(r, "link").empty() ? "" : ", link " + text_of(r, "link"),
                   next > 0 ? ", next attempt " + time_text(next) : "",
                   number_of(r, "tries") > 0 ? ", " + std::to_string(number_of(r, "tries")) +
                                                   " attempts so "
                                                   "far"
                                             : "");
        if (!text_of(r, "reason").empty())
            fmt::print("    {}: {}\n", text_of(r, "state") == "finished" ? "result" : "waits for",
                       truncated(text_of(r, "reason"), 2000));
        const auto wait = text_of(r, "waiting_for");
        if (const auto since = number_of(r, "since"); since > 0)
            fmt::print("    since {}{}{}\n", time_text(since), wait.empty() ? "" : ": ", wait);
        else if (!wait.empty())
            fmt::print("    {}\n", wait);
        if (!text_of(r, "advice").empty()) fmt::print("    {}\n", truncated(text_of(r, "advice"), 2000));
        print_attempts(r);
        print_link_failures(r);
    }
}

void print_message(const json& m) {
    print_field("Message", text_of(m, "id"));
    print_field("State", text_of(m, "state") + (flag_of(m, "problem_message") ? ", a problem message" : ""));
    if (!text_of(m, "held_by").empty())
        print_field("Held", fmt::format("by {}: {}", text_of(m, "held_by"), text_of(m, "held_reason")));
    print_field("Sender", "<" + text_of(m, "sender") + ">");
    print_field("Subject", text_of(m, "subject"));
    print_field("Message-ID", text_of(m, "message_id"));
    print_field("Arrived", time_text(number_of(m, "arrival")));
    if (number_of(m, "expiry") > 0) print_field("Expires", time_text(number_of(m, "expiry")));
    print_field("Size", fmt::format("{} bytes", number_of(m, "size")));
    print_field("Lane", chosen_text(m, "lane"));
    if (number_of(m, "deliver_by") > 0)
        print_field("Deliver by", fmt::format("{}, then {}", time_text(number_of(m, "deliver_by")),
                                              text_of(m, "late_mail") == "return" ? "return it" : "notify the sender"));
    print_field("Policy",
                text_of(m, "policy") +
                    (text_of(m, "policy_values").empty() ? "" : fmt::format(" ({})", text_of(m, "policy_values"))));
    print_field("Pool", chosen_text(m, "pool"));
    print_field("Rerouted to", text_of(m, "rerouted_to"));
    print_field("Filter", text_of(m, "content_filter"));
    print_field("Client", text_of(m, "client"));
    print_field("HELO", text_of(m, "helo"));
    print_field("Protocol", text_of(m, "protocol"));
    print_field("Submitter", text_of(m, "submitter"));
    print_field("Envelope id", text_of(m, "envelope_id"));
    print_field("Idempotency", text_of(m, "idempotency_key"));
    print_field("File", text_of(m, "location"));
}

void print_gates(const json& line) {
    fmt::print("{} for <{}>\n", text_of(line, "id"), truncated(text_of(line, "address"), 400));
    for (const auto* what : {"lane", "pool"})
        if (const auto chosen = chosen_text(line, what); !chosen.empty()) fmt::print("     {:<12} {}\n", what, chosen);
    const auto blocked_by = text_of(line, "blocked_by");
    std::string advice;
    for (const auto& gate : list_of(line, "gates")) {
        const auto name = text_of(gate, "gate");
        const auto until = number_of(gate, "until");
        const auto from = text_of(gate, "origin"), who = text_of(gate, "by");
        if (name == blocked_by) advice = text_of(gate, "advice");
        fmt::print("  {} {:<12} {}{}{}{}{}\n", name == blocked_by ? "=>" : "  ", name,
                   flag_of(gate, "open") ? "open" : "closed",
                   text_of(gate, "text").empty() ? "" : ": " + truncated(text_of(gate, "text"), 1000),
                   from.empty() ? "" : fmt::format(" (from {}{})", truncated(from, 500), who.empty() ? "" : ", " + who),
                   number_of(gate, "since") > 0 ? ", since " + time_text(number_of(gate, "since")) : "",
                   until > 0 ? ", until " + time_text(until) : "");
    }
    for (const auto& each : list_of(line, "backing_off"))
        fmt::print("     backing off  {}\n", source_backoff_text(each));
    const auto closed = [&](std::string_view gate) {
        return std::ranges::any_of(list_of(line, "gates"), [&](const json& each) {
            return text_of(each, "gate") == gate && !flag_of(each, "open");
        });
    };
    const auto next = number_of(line, "next_attempt");
    if (text_of(line, "state") == "report")
        fmt::print("  delivery is complete; the report to its sender is still pending{}\n",
                   next > 0 ? "; next attempt: " + time_text(next) : "");
    else if (blocked_by.empty())
        fmt::print("  not blocked: it is being delivered\n");
    else
        fmt::print("  blocked by {}; earliest next attempt: {}\n", blocked_by,
                   closed("hold")    ? "when it is released"
                   : closed("pause") ? "when the pause is resumed"
                   : next > 0        ? time_text(next)
                                     : "when its turn comes");
    if (!advice.empty()) fmt::print("  {}\n", truncated(advice, 2000));
}

} // namespace postrider

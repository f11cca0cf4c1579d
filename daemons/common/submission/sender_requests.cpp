#include "daemons/common/submission/sender_requests.h"
#include "daemons/common/text/units.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>

namespace common {

namespace {

// In the order in which they are read: expires counts from send_at.
constexpr std::array requests = {send_at_field, expires_field, deliver_by_field, lane_field, policy_field};
constexpr std::array<std::string_view, 3> lanes = {"high", "normal", "bulk"};

struct Option {
    std::string_view name; // of sendmail -O
    std::size_t field;
    bool bare_seconds = false; // a number without a unit is one of seconds
};
constexpr Option options[] = {
    {"sendat", send_at_field},
    {"holduntil", send_at_field},
    {"holdfor", send_at_field, true},
    {"expires", expires_field},
    {"lane", lane_field},
    {"policy", policy_field},
    {"pool", pool_field},
    {"deliverby", deliver_by_field, true},
};

bool is_number(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::string with_name(std::size_t field, std::string_view text) {
    return fmt::format("{}: {}", control_fields[field], text);
}

std::string not_a_time(std::size_t field, std::string_view text) {
    return with_name(field,
                     fmt::format("expected a time such as 2026-12-01T08:00:00Z, or a span such as 2h, not \"{}\"",
                                 smtp::printable(text, 64)));
}

std::string schedule(std::string_view text, spool::Envelope& envelope) {
    if (envelope.not_before) return with_name(send_at_field, "HOLDFOR or HOLDUNTIL was given as well");
    const auto at = config::parse_time(text, envelope.arrival);
    if (!at) return not_a_time(send_at_field, text);
    if (*at > envelope.arrival + longest_schedule) return with_name(send_at_field, "more than 90 days ahead");
    if (envelope.deliver_by && *at >= *envelope.deliver_by)
        return with_name(send_at_field, "after the time by which the message must be delivered (BY)");
    if (*at > envelope.arrival) envelope.not_before = *at; // else it is sent at once
    return "";
}

std::string limit_life(std::string_view text, spool::Envelope& envelope) {
    const auto free = envelope.not_before.value_or(envelope.arrival);
    const auto at = config::parse_time(text, free);
    if (!at) return not_a_time(expires_field, text);
    if (*at <= free) return with_name(expires_field, "before the message may be sent");
    if (*at > free + longest_schedule)
        return with_name(expires_field, "more than 90 days after the message may be sent");
    envelope.expiry = *at;
    // follows the schedule when an operator changes that (spool::expiry_from)
    if (const auto span = config::parse_duration(text))
        envelope.lifetime = static_cast<std::uint32_t>(std::chrono::ceil<std::chrono::seconds>(*span).count());
    return "";
}

// "2h", "2h;R", "2026-12-01T08:00:00Z;NT": a span counts from when the message may first be sent.
std::string set_deliver_by(std::string_view text, spool::Envelope& envelope) {
    if (envelope.deliver_by) return with_name(deliver_by_field, "BY was given as well");
    const auto free = envelope.not_before.value_or(envelope.arrival);
    const auto semicolon = std::min(text.find(';'), text.size());
    const auto at = config::parse_time(text.substr(0, semicolon), free);
    if (!at) return not_a_time(deliver_by_field, text);
    smtp::DeliverBy by;
    if (semicolon < text.size() && !smtp::parse_by_mode(text.substr(semicolon + 1), by))
        return with_name(deliver_by_field, fmt::format("expected ;R or ;N after the time, not \"{}\"",
                                                       smtp::printable(text.substr(semicolon), 64)));
    if (*at <= free) return with_name(deliver_by_field, "before the message may be sent");
    if (*at > free + longest_schedule)
        return with_name(deliver_by_field, "more than 90 days after the message may be sent");
    envelope.deliver_by = *at;
    envelope.late = by.late;
    envelope.deliver_by_trace = by.trace;
    return "";
}

std::string choose_lane(std::string_view text, spool::Envelope& envelope) {
    const auto lane = std::ranges::find_if(lanes, [&](auto each) { return smtp::same_ignoring_case(each, text); });
    if (lane == lanes.end())
        return with_name(lane_field,
                         fmt::format("expected {}, not \"{}\"", fmt::join(lanes, ", "), smtp::printable(text, 64)));
    envelope.lane = *lane;
    envelope.lane_chosen_by = control_fields[lane_field];
    return "";
}

std::string choose_policy(const SenderRequestRules& rules, std::string_view text, spool::Envelope& envelope) {
    if (rules.policies && std::ranges::find(*rules.policies, text) == rules.policies->end())
        return with_name(policy_field, fmt::format("there is no retry policy \"{}\"", smtp::printable(text, 64)));
    envelope.retry_policy = text;
    return "";
}

std::string meta_name(std::string_view name) { return std::string(meta_field) + smtp::printable(name, 80); }

bool is_meta_name(std::string_view name) {
    return name.size() <= longest_meta_name && std::ranges::all_of(name, [](char c) {
               return smtp::is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_';
           });
}

std::string keep_meta(const smtp::ControlFields& asked, spool::Envelope& envelope) {
    if (asked.chosen_count() > most_meta_fields)
        return fmt::format("{} fields {}NAME, expected at most {}", asked.chosen_count(), meta_field, most_meta_fields);
    std::size_t bytes = 0;
    for (const auto& each : asked.chosen()) {
        if (!is_meta_name(each.name))
            return fmt::format("{}: expected at most {} letters, digits, \"-\" and \"_\" after {}",
                               meta_name(each.name), longest_meta_name, meta_field);
        const auto name = smtp::lowered(each.name);
        if (std::ranges::find(envelope.meta, name, &spool::NamedValue::name) != envelope.meta.end())
            return meta_name(each.name) + ": given twice, expected once";
        bytes += name.size() + each.value.size();
        if (bytes > most_meta_bytes)
            return fmt::format("the fields {}NAME have more than {} bytes together", meta_field, most_meta_bytes);
        envelope.meta.push_back({name, each.value});
    }
    return "";
}

} // namespace

SenderRequestRules::SenderRequestRules(const std::vector<decide::queue::RetryPolicy>& named) {
    policies = std::vector<std::string>{"exchange"}; // the built-in one
    for (const auto& each : named) policies->push_back(each.name);
}

std::string request_field(std::string_view name, std::string_view value) {
    constexpr std::string_view meta = "meta.";
    if (name.size() > meta.size() && smtp::same_ignoring_case(name.substr(0, meta.size()), meta))
        return fmt::format("{}{}: {}\r\n", meta_field, name.substr(meta.size()), value);
    const auto option =
        std::ranges::find_if(options, [&](const auto& each) { return smtp::same_ignoring_case(each.name, name); });
    if (option == std::end(options)) return "";
    const auto time = value.substr(0, value.find(';'));
    return fmt::format("{}: {}{}{}\r\n", control_fields[option->field], time,
                       option->bare_seconds && is_number(time) ? "s" : "", value.substr(time.size()));
}

std::string apply_sender_requests(const SenderRequestRules& rules, Submitter submitter,
                                  const smtp::ControlFields& asked, spool::Envelope& envelope) {
    if (submitter == Submitter::stranger) return "";
    for (const auto field : requests) {
        if (asked.count(field) == 0) continue;
        if (asked.count(field) > 1)
            return with_name(field, fmt::format("given {} times, expected once", asked.count(field)));
        const auto text = asked.value(field);
        const auto problem = field == send_at_field      ? schedule(text, envelope)
                             : field == expires_field    ? limit_life(text, envelope)
                             : field == deliver_by_field ? set_deliver_by(text, envelope)
                             : field == lane_field       ? choose_lane(text, envelope)
                                                         : choose_policy(rules, text, envelope);
        if (!problem.empty()) return problem;
    }
    return keep_meta(asked, envelope);
}

std::string text_of_sender_requests(const smtp::ControlFields& asked) {
    auto out = asked.value(pool_field);
    for (const auto field : requests)
        if (asked.count(field) > 0) out += '\n' + with_name(field, asked.value(field));
    for (const auto& each : asked.chosen()) out += fmt::format("\n{}{}: {}", meta_field, each.name, each.value);
    return out;
}

} // namespace common

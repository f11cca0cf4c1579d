#include "daemons/queue-manager/control/control_json.h"
#include "daemons/common/proto/route.h"
#include "daemons/decide/hosts/mx.h"
#include "daemons/decide/queue/ladder.h"
#include "daemons/queue-manager/control/by_recipient.h"
#include "daemons/queue-manager/conversion/retry_values.h"
#include "daemons/queue-manager/probe/operator_advice.h"
#include "libsmtp/message/header.h"
#include "libsmtp/mime/encoded_word.h"
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace queue_manager {

using namespace decide::queue;
using nlohmann::json;

std::string text_field(const nlohmann::json& body, const char* key) {
    const auto found = body.find(key);
    return found != body.end() && found->is_string() ? found->get<std::string>() : "";
}

std::int64_t seconds_of(smtp::WallTime time) {
    return std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count();
}

std::string_view word_of(Waiting waiting) {
    switch (waiting) {
    case Waiting::categorizer: return "new";
    case Waiting::scheduled: return "scheduled";
    case Waiting::held: return "held";
    case Waiting::route: return "routing";
    case Waiting::own_time:
    case Waiting::queue:
    case Waiting::link: return "retrying";
    case Waiting::paused: return "paused";
    case Waiting::connection:
    case Waiting::suspect: return "due";
    case Waiting::active: return "active";
    case Waiting::report: return "report";
    }
    return "";
}

std::string_view word_of(Lane lane) {
    switch (lane) {
    case Lane::high: return "high";
    case Lane::normal: return "normal";
    case Lane::bulk: return "bulk";
    }
    return "";
}

std::string_view word_of(Gate gate) {
    switch (gate) {
    case Gate::schedule: return "schedule";
    case Gate::hold: return "hold";
    case Gate::agent: return "agent";
    case Gate::pause: return "pause";
    case Gate::categorizer: return "categorizer";
    case Gate::suppression: return "suppression";
    case Gate::route: return "route";
    case Gate::link: return "link";
    case Gate::queue: return "queue";
    case Gate::ladder: return "retry";
    case Gate::rate: return "rate";
    case Gate::window: return "window";
    case Gate::turn: return "turn";
    case Gate::report: return "report";
    }
    return "";
}

namespace {

std::string_view word(smtp::Stage stage) {
    constexpr std::array<std::string_view, 13> words = {"",        "lookup",    "connect", "banner", "ehlo",
                                                        "tls",     "auth",      "mail",    "rcpt",   "data",
                                                        "content", "final dot", "local"};
    return words[static_cast<std::size_t>(stage)];
}

std::string_view word(spool::Outcome outcome) {
    switch (outcome) {
    case spool::Outcome::delivered: return "delivered";
    case spool::Outcome::deferred: return "deferred";
    case spool::Outcome::failed: return "failed";
    }
    return "";
}

std::string text_of(const Reason& reason) { return reason.text; }

json history_of(const spool::RecipientState& recipient) {
    json attempts = json::array();
    for (const auto& each : recipient.attempts)
        attempts.push_back({{"first", seconds_of(each.first)},
                            {"last", seconds_of(each.last)},
                            {"count", each.count},
                            {"host", each.host},
                            {"outcome", word(each.outcome)},
                            {"stage", word(each.reply.stage)},
                            {"code", each.reply.code},
                            {"status", each.reply.status},
                            {"text", each.reply.text},
                            {"in_doubt", each.in_doubt},
                            {"tls", each.tls},
                            {"source", each.source}});
    return attempts;
}

std::string state_of(const MessageInfo& info) {
    if (info.active) return "active";
    if (info.held) return "held";
    return std::string(info.deliveries.empty() ? "report" : word_of(info.deliveries.front().waiting));
}

} // namespace

std::string lane_chosen_by(const spool::MessageState& state) {
    const auto& envelope = state.envelope;
    return state.lane == envelope.lane && state.priority == envelope.priority ? envelope.lane_chosen_by : "an operator";
}

json json_of(const LinkInfo& link) {
    json addresses = json::array();
    for (const auto& each : link.addresses)
        addresses.push_back({{"address", each.name},
                             {"connections", each.connections},
                             {"this_link", each.own},
                             {"limit", each.limit}});
    return {{"link", link.name},
            {"kind", link.local ? "local"
                     : link.mx  ? "mx"
                                : "configured"},
            {"state", link.down ? std::string_view("down") : decide::queue::word_of(link.health)},
            {"pool", link.pool},
            {"paused", link.paused},
            {"failures", link.failures},
            {"failing_since", seconds_of(link.failing_since)},
            {"next_attempt", seconds_of(link.next_attempt)},
            {"last_error", text_of(link.last_error)},
            {"last_error_status", link.last_error.status},
            {"connections", link.connections},
            {"window", link.window},
            {"limit", link.limit},
            {"at_address_limit", link.at_address_limit},
            {"addresses", std::move(addresses)},
            {"queues", link.queues},
            {"deliveries", link.deliveries},
            {"due", link.due},
            {"in_flight", link.in_flight},
            {"waiting", link.waiting},
            {"waiting_for", text_of(link.last_deferral)},
            {"waiting_for_status", link.last_deferral.status},
            {"oldest", seconds_of(link.oldest)},
            {"transaction_ms", std::chrono::duration_cast<std::chrono::milliseconds>(link.transaction).count()},
            {"idle_reason", link.idle_reason}};
}

json json_of(const std::vector<LinkFailure>& failures, smtp::WallTime since) {
    json out = json::array();
    for (const auto& each : failures) {
        if (each.time < since) continue;
        out.push_back({{"time", seconds_of(each.time)},
                       {"phase", each.phase == Phase::connecting ? "connecting" : "session"},
                       {"status", each.reason.status},
                       {"text", each.reason.text}});
    }
    return out;
}

json json_of(const QueueInfo& queue) {
    return {{"queue", queue.name},
            {"link", queue.link},
            {"state", queue.routed ? decide::queue::word_of(queue.health) : std::string_view("routing")},
            {"pool", queue.pool},
            {"paused", queue.paused},
            {"link_failing", queue.of_link},
            {"failures", queue.failures},
            {"failing_since", seconds_of(queue.failing_since)},
            {"next_attempt", seconds_of(queue.next_attempt)},
            {"last_error", text_of(queue.last_error)},
            {"last_error_status", queue.last_error.status},
            {"deliveries", queue.deliveries},
            {"due", queue.due},
            {"in_flight", queue.in_flight},
            {"problem_messages", queue.problem},
            {"oldest", seconds_of(queue.oldest)},
            {"idle_reason", queue.idle_reason}};
}

json json_of(const decide::queue::Unrouted& mail) {
    return {{"gate", word_of(mail.gate)},
            {"queue", mail.queue},
            {"deliveries", mail.deliveries},
            {"failures", mail.failures},
            {"failing_since", seconds_of(mail.failing_since)},
            {"next_attempt", seconds_of(mail.next_attempt)},
            {"last_error", text_of(mail.reason)},
            {"last_error_status", mail.reason.status},
            {"waiting_for", mail.waiting_for}};
}

json json_of(const RouteQuery::RecipientRoute& recipient_route) {
    constexpr std::string_view fates[] = {"deferred", "remote", "local", "discard", "failed"};
    constexpr std::string_view kinds[] = {"mx", "configured", "temporary", "permanent"};
    const auto& outcome = recipient_route.outcome;
    json out = {{"address", outcome.address},
                {"disposition", fates[static_cast<std::size_t>(outcome.fate)]},
                {"user", outcome.user},
                {"status", outcome.status},
                {"target", outcome.target},
                {"transport", outcome.transport},
                {"text", outcome.text},
                {"queue", ""},
                {"kind", ""},
                {"link", ""},
                {"hosts", json::array()}};
    if (!recipient_route.route) return out;
    out["queue"] = recipient_route.route->domain;
    out["kind"] = kinds[static_cast<std::size_t>(recipient_route.route->kind)];
    out["link"] = recipient_route.route->link;
    if (!recipient_route.route->text.empty())
        out["status"] = recipient_route.route->status, out["text"] = recipient_route.route->text;
    for (const auto& host : recipient_route.route->hosts)
        out["hosts"].push_back({{"name", host.name}, {"port", host.port}, {"preference", host.preference}});
    return out;
}

json json_of(const std::vector<decide::queue::LinkLimit>& limits) {
    json out = json::array();
    for (const auto& each : limits)
        out.push_back({{"name", each.name}, {"value", each.value}, {"setting", each.setting}});
    return out;
}

json json_of(const ProbeLine& line) {
    constexpr std::string_view findings[] = {"good", "notice", "temporary", "permanent"};
    return {{"at_us", line.at.count()},
            {"step", line.step},
            {"finding", findings[static_cast<std::size_t>(line.finding)]},
            {"host", line.host},
            {"recipient", line.recipient},
            {"code", line.code},
            {"status", line.status},
            {"text", line.text},
            {"advice", line.advice},
            {"rule", line.rule}};
}

json json_of(const Pause& pause) {
    return {{"scope", word_of(pause.scope)},
            {"name", pause.name},
            {"by", pause.who},
            {"reason", pause.why},
            {"since", seconds_of(pause.since)}};
}

HeaderFacts facts_of(std::string_view header) {
    HeaderFacts out;
    for (const auto& field : smtp::scan_header(header).fields) {
        if (field.is("Subject") && out.subject.empty()) out.subject = smtp::decoded_words(field.unfolded());
        if (field.is("Message-ID") && out.message_id.empty()) out.message_id = smtp::decoded_words(field.unfolded());
    }
    return out;
}

json json_of(const MessageInfo& info, const spool::MessageState& state, const HeaderFacts& header,
             const ChosenRecipients& chosen, Detail detail, const std::string& user) {
    const bool all = detail == Detail::everything;
    json recipients = json::array();
    const auto deliveries = by_recipient(info.deliveries, state.recipients.size());
    for (const auto number : chosen.numbers) {
        const auto& recipient = state.recipients[number];
        const auto* delivery = deliveries[number];
        json line = {{"address", recipient.address},
                     {"original", state.envelope_of(recipient).address},
                     {"state", "finished"},
                     {"queue", ""},
                     {"link", ""},
                     {"failures", recipient.failures},
                     {"next_attempt", 0},
                     {"reason", recipient.reply.text},
                     {"since", 0},
                     {"waiting_for", ""}};
        if (delivery != nullptr && !recipient.accounted_for()) {
            line["state"] = word_of(delivery->waiting);
            line["queue"] = delivery->queue;
            line["link"] = delivery->link;
            line["next_attempt"] = seconds_of(delivery->next_attempt);
            if (!delivery->reason.text.empty()) line["reason"] = delivery->reason.text;
            line["since"] = seconds_of(delivery->since);
            line["waiting_for"] = delivery->waiting_for;
        }
        if (all) {
            line["tries"] = recipient.tries;
            line["in_doubt"] = recipient.in_doubt;
            line["user"] = recipient.user;
            line["target"] = recipient.target;
            line["transport"] = recipient.transport;
            line["attempts"] = history_of(recipient);
            line["advice"] =
                delivery == nullptr || recipient.accounted_for() ? "" : advice_on(*delivery, recipient, user);
        }
        recipients.push_back(std::move(line));
    }
    json out = {{"id", info.id.text()},
                {"state", state_of(info)},
                {"arrival", seconds_of(info.arrival)},
                {"expiry", seconds_of(info.expiry)},
                {"size", info.size},
                {"lane", word_of(info.lane)},
                {"sender", state.envelope.reverse_path},
                {"subject", header.subject},
                {"message_id", header.message_id},
                {"submitter", state.envelope.submitter},
                {"pool", state.envelope.pool},
                {"policy", state.retry_policy},
                {"recipients", std::move(recipients)},
                {"recipients_total", chosen.total}};
    if (!all) return out;
    out["recipients_next"] = chosen.next;
    const auto& e = state.envelope;
    out["location"] = info.location == spool::Location::incoming ? "incoming" : "messages";
    out["client"] = e.client_address.empty() ? "" : fmt::format("{}[{}]", e.client_name, e.client_address);
    out["helo"] = e.helo;
    out["protocol"] = e.protocol;
    out["envelope_id"] = e.envid;
    if (e.deliver_by) {
        out["deliver_by"] = seconds_of(*e.deliver_by);
        out["late_mail"] = e.late == smtp::LateMail::give_back ? "return" : "notify";
    }
    out["lane_chosen_by"] = lane_chosen_by(state);
    out["pool_chosen_by"] = e.pool_chosen_by;
    out["idempotency_key"] = e.idempotency_key;
    out["policy_values"] =
        state.retry_values ? decide::queue::text_of(policy_of(state.retry_policy, *state.retry_values)) : "";
    out["problem_message"] = state.problem;
    out["held_by"] = state.held_by;
    out["held_reason"] = state.held_why;
    out["rerouted_to"] = state.rerouted_to;
    out["content_filter"] = e.content_filter;
    return out;
}

namespace {

// Queues are named after their recipients' domain, except where the next hop was named (by an operator or a transport
// table), and those of this host's users.
bool named_by_domain(std::string_view queue) {
    return !queue.empty() && !queue.starts_with(proto::route::via) && !queue.starts_with(store_prefix);
}

} // namespace

Facts facts_of(const MessageInfo& info, const spool::MessageState* state, smtp::WallTime now,
               const HeaderFacts& header) {
    Facts facts;
    facts.subject = header.subject;
    facts.message_id = header.message_id;
    facts.id = info.id.text();
    facts.lane = word_of(info.lane);
    facts.age = now - info.arrival;
    facts.size = info.size;
    if (info.held) facts.states.emplace_back("held");
    for (const auto& delivery : info.deliveries) {
        facts.states.emplace_back(word_of(delivery.waiting));
        if (!delivery.queue.empty()) facts.domains.emplace_back(decide::link_to(delivery.queue));
        if (!named_by_domain(delivery.queue)) facts.domains_known = false;
        if (!delivery.link.empty()) facts.links.push_back(delivery.link);
        for (const auto* why : {&delivery.reason.text, &delivery.waiting_for})
            if (!why->empty()) facts.reasons.push_back(*why);
    }
    if (state == nullptr) return facts;
    facts.sender = state->envelope.reverse_path;
    facts.submitter = state->envelope.submitter;
    facts.pool = state->envelope.pool;
    facts.policy = state->retry_policy;
    for (const auto& recipient : state->recipients) {
        if (recipient.accounted_for()) continue;
        facts.recipients.push_back(recipient.address);
        facts.domains.push_back(recipient.address.substr(recipient.address.rfind('@') + 1));
        const auto& original = state->envelope_of(recipient).address;
        if (original != recipient.address) facts.recipients.push_back(original);
        if (!recipient.reply.text.empty()) facts.reasons.push_back(recipient.reply.text);
    }
    return facts;
}

} // namespace queue_manager

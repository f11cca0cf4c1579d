#include "daemons/http/endpoints/history.h"
#include "daemons/http/endpoints/answers.h"
#include "daemons/http/requests/schemas.h"
#include <nlohmann/json.hpp>

namespace http {

using nlohmann::json;
using tokens::Scope;

namespace {

constexpr std::uint64_t default_counting_seconds = 60, most_counting_seconds = 600;

std::vector<std::string> words_in(const web::Request& request) {
    std::vector<std::string> words;
    for (const auto& [name, value] : request.parameters)
        if (name == "filter") words.push_back(value);
    return words;
}

// "next" of an answer: the event from which the list continues, and the newest one of its first part.
std::string text_of(const JournalReader::Answer& answer) { return fmt::format("{}-{}", answer.next, answer.newest); }

std::expected<JournalReader::Part, Problem> part_after(std::string_view text) {
    JournalReader::Part part;
    if (text.empty()) return part;
    const auto dash = std::min(text.find('-'), text.size());
    const auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    const auto from = smtp::parse_number(text.substr(0, dash), most);
    const auto newest = smtp::parse_number(text.substr(std::min(dash + 1, text.size())), most);
    if (!from || !newest)
        return std::unexpected(Problem{400, "invalid-request", "after: expected \"next\" of a list's answer."});
    part.from = *from;
    part.newest = *newest;
    return part;
}

void search(Services& services, const std::shared_ptr<Call>& call) {
    const auto limit = limit_in(call->request());
    if (!limit) return call->respond(limit.error());
    const auto part = part_after(call->parameter("after"));
    if (!part) return call->respond(part.error());
    auto words = words_in(call->request());
    if (words.empty())
        return call->respond(
            Problem{400, "invalid-request",
                    "filter: expected what is to be found: an address, a queue id, a Message-ID, or words such as "
                    "since=1h."});
    const bool with_events = call->parameter("events") == "true";
    services.journal.search(std::move(words), {.limit = *limit, .from = part->from, .newest = part->newest},
                            cancelled_with(*call), [call, with_events](JournalReader::Answer answer) {
                                if (const auto problem = problem_of(answer)) return call->respond(*problem);
                                std::vector<json> lines;
                                for (auto& each : answer.messages) {
                                    auto line = json_of(each.history);
                                    if (with_events) line["events"] = std::move(each.events);
                                    lines.push_back(std::move(line));
                                }
                                for (auto& each : answer.events) lines.push_back(std::move(each));
                                if (wants_lines(call->request()))
                                    return call->respond(list_response(call->request(), "messages", std::move(lines)));
                                call->respond(
                                    json_response(200, {{"messages", std::move(lines)},
                                                        {"more", answer.next != 0},
                                                        {"next", answer.next == 0 ? json() : json(text_of(answer))},
                                                        {"damaged", answer.damaged}}));
                            });
}

void summarize(Services& services, const std::shared_ptr<Call>& call) {
    const auto limit = limit_in(call->request());
    if (!limit) return call->respond(limit.error());
    const auto seconds = number_in(call->request(), "seconds", default_counting_seconds, most_counting_seconds);
    if (!seconds) return call->respond(seconds.error());
    services.journal.summarize(words_in(call->request()), {{std::string(call->parameter("by"))}}, *limit,
                               std::chrono::seconds(*seconds), cancelled_with(*call),
                               [call](const JournalReader::Answer& answer) {
                                   if (const auto problem = problem_of(answer)) return call->respond(*problem);
                                   auto out = answer.summaries.front();
                                   out.update(extent_of(answer));
                                   call->respond(json_response(200, out));
                               });
}

void events(Services& services, const std::shared_ptr<Call>& call) {
    const auto part = part_in(call->request());
    if (!part) return call->respond(part.error());
    services.journal.message(call->value(0), [call, part](const JournalReader::Answer& answer) {
        if (const auto problem = problem_of(answer)) return call->respond(*problem);
        if (answer.messages.empty())
            return call->respond(Problem{404, "not-found", "The journal has no event of such a message."});
        auto [shown, next] = part->of(answer.messages.front().events);
        call->respond(list_response(call->request(), "events", std::move(shown), next));
    });
}

} // namespace

JournalReader::Cancelled cancelled_with(const Call& call) {
    auto out = std::make_shared<std::atomic<bool>>(false);
    call.shared_exchange()->on_gone([out] { out->store(true, std::memory_order_relaxed); });
    return out;
}

json json_of(const history::MessageHistory& message) {
    json out = {{"id", message.id()},
                {"sender", message.sender()},
                {"outcome", message.outcome_text()},
                {"finished", message.finished()},
                {"last_time", message.last_time()},
                {"recipients", json::array()},
                {"recipients_total", message.recipients_total()},
                {"events_total", message.events()}};
    const auto put = [](json& to, const char* key, const std::string& value) {
        if (!value.empty()) to[key] = value;
    };
    put(out, "message_id", message.message_id());
    put(out, "submitter", message.submitter());
    put(out, "accepted", message.accepted());
    if (message.size() > 0) out["size"] = message.size();
    for (const auto& each : message.recipients()) {
        json one = {{"recipient", each.address}, {"outcome", history::name_of(each.outcome)}};
        put(one, "time", each.time);
        put(one, "link", each.link);
        put(one, "reply", each.reply);
        put(one, "class", each.failure_class);
        if (each.attempts > 0) one["attempts"] = each.attempts;
        out["recipients"].push_back(std::move(one));
    }
    return out;
}

json json_of(const history::MessageHistory& message, const ListPart& part) {
    auto out = json_of(message);
    auto [shown, next] = part.of(out["recipients"].get_ref<const json::array_t&>());
    out["recipients"] = std::move(shown);
    out["next"] = next.empty() ? json() : json(next);
    return out;
}

json extent_of(const JournalReader::Answer& answer) {
    return {{"complete", answer.complete},
            {"counted_from", answer.counted_from.empty() ? json() : json(answer.counted_from)},
            {"damaged", answer.damaged}};
}

std::optional<Problem> problem_of(const JournalReader::Answer& answer) {
    if (!answer.wrong.empty()) return Problem{400, "invalid-request", answer.wrong};
    if (!answer.failed.empty()) return Problem{503, "unavailable", "The journal cannot be read: " + answer.failed, 5};
    return {};
}

void add_history(Router& router, Services& services) {
    router.add(
        {.method = "GET",
         .path = "/v1/history",
         .scope = Scope::read,
         .summary = "Search the journal for messages",
         .parameters = {{"filter", "Words that select events, as in postrider-history(7); may be repeated",
                         Parameter::Kind::texts},
                        {"limit", "Maximum number of messages: 100 by default, at most 1000", Parameter::Kind::number},
                        {"after", "Continue there, with older ones: \"next\" of the previous answer"},
                        {"events", "true: with all events of each message", Parameter::Kind::flag}},
         .answer = schema::history,
         .answer_types = {json_type, lines_type},
         .statuses = {200, 400, 503},
         .handle = [&services](const std::shared_ptr<Call>& call) { search(services, call); }});
    router.add(
        {.method = "GET",
         .path = "/v1/history/summary",
         .scope = Scope::read,
         .summary = "Count events of the journal",
         .parameters = {{"by", "class, link, day, submitter, pool, lane, domain, reply, type, rule, limit or network"},
                        {"filter", "Words that select events; none: all", Parameter::Kind::texts},
                        {"limit", "Maximum number of groups: 100 by default, at most 1000", Parameter::Kind::number},
                        {"seconds", "Maximum time to count, newest first: 60 by default, at most 600",
                         Parameter::Kind::number}},
         .answer = schema::history_summary,
         .statuses = {200, 400, 503},
         .handle = [&services](const std::shared_ptr<Call>& call) { summarize(services, call); }});
    router.add(
        {.method = "GET",
         .path = "/v1/messages/{id}/events",
         .scope = Scope::read,
         .summary = "Show the events of a message",
         .parameters = {{"limit", "Maximum number of events: 100 by default, at most 1000", Parameter::Kind::number},
                        {"after", "Continue there: \"next\" of the previous answer"}},
         .answer = schema::events,
         .answer_types = {json_type, lines_type},
         .statuses = {200, 400, 404, 503},
         .handle = [&services](const std::shared_ptr<Call>& call) { events(services, call); }});
}

} // namespace http

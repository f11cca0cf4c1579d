#include "daemons/http/overview/traffic.h"
#include "daemons/http/endpoints/history.h"
#include "daemons/http/endpoints/limits.h"
#include "daemons/http/requests/schemas.h"
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

namespace http {

using nlohmann::json;
using tokens::Scope;

namespace {

constexpr std::uint64_t default_seconds = 5, most_seconds = 60;
constexpr std::string_view default_since = "1d";

const std::vector<std::string> fates = {"message.accepted", "message.delivered", "message.deferred",
                                        "message.failed",   "message.expired",   "message.suppressed"};
const std::vector<std::string> failures = {"message.failed", "message.expired", "message.suppressed"};
const std::vector<std::string> refusals = {"session.rejected", "auth.failed", "limit.hit", "milter.rejected",
                                           "journal.gap"};

// What a view counts, in one pass: each count is a member of its answer.
struct View {
    std::vector<std::string> types; // of events
    std::vector<std::pair<std::string_view, JournalReader::Count>> counts;
};

const View& senders_view() {
    static const View view = {fates,
                              {{"submitters", {"submitter", {}}},
                               {"pools", {"pool", {}}},
                               {"lanes", {"lane", {}}},
                               {"classes", {"class", failures}}}};
    return view;
}

const View& door_view() {
    static const View view = {refusals,
                              {{"types", {"type", {}}},
                               {"rules", {"rule", {"session.rejected"}}},
                               {"networks", {"network", {"auth.failed"}}},
                               {"limits", {"limit", {"limit.hit"}}},
                               {"filters", {"rule", {"milter.rejected"}}}}};
    return view;
}

std::expected<smtp::Duration, Problem> time_in(const web::Request& request) {
    const auto seconds = number_in(request, "seconds", default_seconds, most_seconds);
    if (!seconds) return std::unexpected(seconds.error());
    return std::chrono::seconds(*seconds);
}

json answer_of(const View& view, JournalReader::Answer& answer) {
    auto out = extent_of(answer);
    for (std::size_t i = 0; i < view.counts.size(); ++i)
        out[std::string(view.counts[i].first)] = std::move(answer.summaries[i]);
    if (const auto types = out.find("types"); types != out.end()) {
        std::uint64_t left_out = 0;
        for (const auto& each : (*types)["groups"]) left_out += each.value("left_out", std::uint64_t{0});
        out["left_out"] = left_out;
    }
    return out;
}

void show_counts(Services& services, const View& view, const std::shared_ptr<Call>& call) {
    const auto limit = limit_in(call->request());
    if (!limit) return call->respond(limit.error());
    const auto within = time_in(call->request());
    if (!within) return call->respond(within.error());
    const auto since = call->parameter("since");
    std::vector<std::string> words = {"since=" + std::string(since.empty() ? default_since : since)};
    for (const auto& type : view.types) words.push_back("type=" + type);
    std::vector<JournalReader::Count> counts;
    for (const auto& [name, count] : view.counts) counts.push_back(count);
    services.journal.summarize(std::move(words), std::move(counts), *limit, *within, cancelled_with(*call),
                               [call, &view](JournalReader::Answer answer) {
                                   if (const auto problem = problem_of(answer)) return call->respond(*problem);
                                   call->respond(json_response(200, answer_of(view, answer)));
                               });
}

} // namespace

void add_traffic(Router& router, Services& services) {
    const auto add = [&](std::string_view path, std::string_view summary, std::string_view schema, const View& view) {
        router.add(
            {.method = "GET",
             .path = path,
             .scope = Scope::read,
             .summary = summary,
             .parameters = {{"since", "A duration such as 1h, a day or a time: 1d by default"},
                            {"limit", "Maximum number of groups of each kind: 100 by default, at most 1000",
                             Parameter::Kind::number},
                            {"seconds", "Maximum time to count, newest first: 5 by default, at most 60",
                             Parameter::Kind::number}},
             .answer = schema,
             .statuses = {200, 400, 503},
             .handle = [&services, &view](const std::shared_ptr<Call>& call) { show_counts(services, view, call); }});
    };
    add("/v1/senders", "Count mail by submitter, pool, lane and class of failure", schema::senders, senders_view());
    add("/v1/door", "Count what was refused at the door", schema::door, door_view());
}

} // namespace http

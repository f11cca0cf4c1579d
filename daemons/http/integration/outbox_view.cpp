#include "daemons/http/integration/outbox_view.h"
#include "libsmtp/text/date.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace http {

using nlohmann::json;

namespace {

json time_of(std::int64_t seconds) {
    if (seconds <= 0) return nullptr;
    return smtp::rfc3339_date(smtp::WallTime(std::chrono::seconds(seconds)));
}

// Attempts are known of a message in detail only.
json error_of(const json& recipient) {
    json out = {{"message", recipient.value("reason", "")}};
    const auto attempts = recipient.value("attempts", json::array());
    if (attempts.empty()) return out;
    if (const auto code = attempts.back().value("code", 0U); code > 0) out["statusCode"] = code;
    return out;
}

// A link's failures are not the recipient's own, but its reason.
bool has_failed(const json& recipient) {
    return recipient.value("failures", 0U) > 0 ||
           (recipient.value("state", "") == "retrying" && !recipient.value("reason", "").empty());
}

json progress_of(const json& recipients) {
    json error;
    bool active = false;
    for (const auto& each : recipients) {
        active = active || each.value("state", "") == "active";
        if (error.is_null() && has_failed(each)) error = error_of(each);
    }
    json out = {{"status", active ? "processing" : error.is_null() ? "queued" : "error"}};
    if (!active && !error.is_null()) out["error"] = std::move(error);
    return out;
}

} // namespace

json outbox_message(const json& queued) {
    const auto arrival = queued.value("arrival", std::int64_t{0});
    std::int64_t next = 0, scheduled = 0;
    std::uint64_t made = 0;
    json to = json::array();
    const auto recipients = queued.value("recipients", json::array());
    for (const auto& each : recipients) {
        const auto attempt = each.value("next_attempt", std::int64_t{0});
        to.push_back(each.value("address", ""));
        made = std::max(made, each.value("failures", std::uint64_t{0}));
        if (each.value("state", "") == "scheduled") scheduled = std::max(scheduled, attempt);
        if (attempt > 0) next = next == 0 ? attempt : std::min(next, attempt);
    }
    return {{"queueId", queued.value("id", "")},
            {"messageId", queued.value("message_id", "")},
            {"envelope", {{"from", queued.value("sender", "")}, {"to", std::move(to)}}},
            {"subject", queued.value("subject", "")},
            {"created", time_of(arrival)},
            {"scheduled", time_of(scheduled > 0 ? scheduled : arrival)},
            {"nextAttempt", time_of(next)},
            {"attemptsMade", made},
            {"attempts", made + 1},
            {"progress", progress_of(recipients)}};
}

std::expected<OutboxPage, Problem> outbox_page(const web::Request& request) {
    OutboxPage out;
    const auto number = [&](std::string_view name, std::uint64_t least, std::uint64_t most, std::uint64_t& into) {
        const auto text = request.parameter(name);
        if (text.empty()) return true;
        const auto given = smtp::parse_number(text, most);
        if (given) into = *given;
        return given && *given >= least;
    };
    const auto wrong = [](std::string text) {
        return std::unexpected(Problem{400, "invalid-request", std::move(text)});
    };
    if (!number("pageSize", 1, OutboxPage::largest, out.size))
        return wrong(fmt::format("pageSize: expected a number from 1 to {}.", OutboxPage::largest));
    const auto last = OutboxPage::last_message / out.size - 1;
    if (!number("page", 0, last, out.page))
        return wrong(
            fmt::format("page: expected a number from 0 to {}; /v1/messages lists any number of messages.", last));
    return out;
}

} // namespace http

#include "daemons/events/hooks/web_endpoint.h"
#include "daemons/events/hooks/web_request.h"
#include "libsmtp/text/text.h"
#include "libspool/journal/journal_line.h"
#include "libspool/journal/json_object.h"
#include <cassert>
#include <fmt/format.h>

namespace events {

using common::Https;
using decide::hooks::EndpointAnswer;

namespace {

constexpr std::size_t largest_answer = 4096, longest_shown = 200;

std::int64_t seconds_of(smtp::WallTime time) {
    return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
}

// An answer with a status counts, even if its body is too long.
EndpointAnswer answer_of(const Https::Answer& answer) {
    if (answer.failure != Https::Failure::none && answer.failure != Https::Failure::too_large)
        return {0, answer.failure == Https::Failure::timeout ? "no answer within the time limit" : answer.why};
    const std::string_view body = answer.content;
    return {answer.status, smtp::printable(body.substr(0, body.find_first_of("\r\n")), longest_shown),
            answer.retry_after};
}

common::WebAddress address_of(const config::Hook& hook) {
    const auto address = common::WebAddress::parse(hook.url);
    assert(address && "checked by the configuration");
    return *address;
}

} // namespace

WebEndpoint::WebEndpoint(common::Loop& loop, Settings settings, Callbacks callbacks)
    : settings_(std::move(settings)), address_(address_of(settings_.hook)), callbacks_(std::move(callbacks)),
      https_(loop, settings_.authorities) {}

Https::Request WebEndpoint::request_with(std::string body, std::vector<std::string> fields) const {
    Https::Request request;
    request.encrypted = address_.encrypted;
    request.host = address_.host;
    request.port = address_.port;
    request.target = address_.target;
    request.content = std::move(body);
    request.content_type = "application/json";
    request.fields = std::move(fields);
    request.fields.insert(request.fields.end(), settings_.hook.headers.begin(), settings_.hook.headers.end());
    request.fields.emplace_back("User-Agent: Postrider");
    request.keep_connection = true;
    request.largest = largest_answer;
    request.timeout = settings_.hook.timeout;
    return request;
}

void WebEndpoint::send(const std::deque<decide::hooks::HookEvent>& events, std::size_t count) {
    auto request = web_request(settings_.node, events, count, settings_.hook.batch > 0, settings_.secrets,
                               seconds_of(common::Loop::now().wall));
    exchange_ = https_.start(request_with(std::move(request.body), std::move(request.fields)),
                             [this](const Https::Answer& answer) {
                                 const auto taken = answer_of(answer);
                                 exchange_.reset();
                                 callbacks_.answered(taken);
                             });
}

bool WebEndpoint::test(const std::string& who, TestDone done) {
    const auto now = common::Loop::now().wall;
    std::string body;
    spool::journal::JsonObject object(body);
    object.number("v", spool::journal_version);
    object.text("node", settings_.node);
    object.time("time", now);
    object.text("type", "hook.test");
    object.text("hook", settings_.hook.name);
    object.text("who", who);
    object.close();
    const auto id = fmt::format("{}.test.{}", settings_.node, now.time_since_epoch().count());
    auto fields = signed_fields(id, body, settings_.secrets, seconds_of(now));
    test_ = https_.start(request_with(std::move(body), std::move(fields)),
                         [this, done = std::move(done)](const Https::Answer& answer) {
                             const auto taken = answer_of(answer);
                             test_.reset();
                             done(taken);
                         });
    return true;
}

} // namespace events

#include "daemons/http/endpoints/events.h"
#include "daemons/decide/queue/filter.h"
#include "daemons/http/requests/media_type.h"
#include "daemons/http/requests/schemas.h"
#include <charconv>
#include <fmt/format.h>
#include <optional>

namespace http {

namespace {

constexpr std::size_t most_types = 20;
constexpr std::size_t enough_unread = web::Exchange::most_unread / 4;
constexpr unsigned idle_rounds = 60; // of EventFeed::interval: then a line shows whether the client is still there

// One client that follows.
struct Follower {
    std::shared_ptr<web::Exchange> exchange;
    std::vector<std::string> types; // patterns; none: all
    bool server_sent = false;
    unsigned idle = 0;

    bool wants(std::string_view type) const {
        if (types.empty()) return true;
        for (const auto& each : types)
            if (decide::queue::wildcard(each, type)) return true;
        return false;
    }
    void take(const std::vector<FeedEvent>& events) {
        std::string text;
        for (const auto& each : events) {
            if (!wants(each.type)) continue;
            if (server_sent)
                text += fmt::format("id: {}\nevent: {}\ndata: {}\n\n", each.number, each.type, each.line);
            else
                text += each.line + "\n";
        }
        if (text.empty()) return;
        idle = 0;
        exchange->write(text);
    }
    void wait() {
        if (++idle < idle_rounds) return;
        idle = 0;
        exchange->write(server_sent ? ":\n\n" : "\n");
    }
};

std::expected<std::optional<std::uint64_t>, Problem> beginning(const web::Request& request) {
    const auto text =
        request.has_header("last-event-id") ? request.header("last-event-id") : request.parameter("after");
    if (text.empty()) return std::nullopt;
    std::uint64_t number = 0;
    const auto end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || rest != end || number >= std::uint64_t{1} << 63)
        return std::unexpected(Problem{400, "invalid-request", "after: expected the number of an event."});
    return number;
}

void follow(Services& services, const std::shared_ptr<Call>& call) {
    const auto after = beginning(call->request());
    if (!after) return call->respond(after.error());
    auto follower = std::make_shared<Follower>();
    for (const auto& [name, value] : call->request().parameters)
        if (name == "type") follower->types.push_back(value);
    if (follower->types.size() > most_types)
        return call->respond(Problem{400, "invalid-request", "type: expected at most 20 patterns."});
    if (services.feed.followers() >= services.followers)
        return call->respond(Problem{503, "busy", "Too many clients follow events.", 30});
    follower->exchange = call->shared_exchange();
    follower->server_sent = names_type(call->request().header("accept"), event_stream_type);
    web::Response head{.status = 200,
                       .type = std::string(follower->server_sent ? event_stream_type : lines_type),
                       .body = {},
                       .headers = {{"Cache-Control", "no-store"}}};
    if (follower->server_sent) head.body = ":\n\n"; // shows at once that it has begun
    follower->exchange->begin_stream(std::move(head));
    const auto number = services.feed.follow(
        *after, {.take = [follower](const std::vector<FeedEvent>& events) { follower->take(events); },
                 .has_room = [follower] { return follower->exchange->unread() < enough_unread; },
                 .idle = [follower] { follower->wait(); }});
    follower->exchange->on_gone([&services, number] { services.feed.unfollow(number); });
}

} // namespace

void add_events(Router& router, Services& services) {
    router.add({.method = "GET",
                .path = "/v1/events",
                .scope = tokens::Scope::read,
                .summary = "Follow the events of the journal",
                .parameters = {{"after", "Begin after the event of this number; otherwise with the next one",
                                Parameter::Kind::number},
                               {"type", "Pattern of types such as message.*; may be repeated", Parameter::Kind::texts}},
                .headers = {{"Last-Event-ID", "As after, for server-sent events", Parameter::Kind::number}},
                .answer = schema::event,
                .answer_types = {lines_type, event_stream_type},
                .statuses = {200, 400, 503},
                .handle = [&services](const std::shared_ptr<Call>& call) { follow(services, call); }});
}

} // namespace http

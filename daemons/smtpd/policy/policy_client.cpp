#include "daemons/smtpd/policy/policy_client.h"
#include <algorithm>
#include <utility>

namespace smtpd {

using namespace std::chrono_literals;

PolicyClient::PolicyClient(common::Loop& loop, common::Log& log, const config::PolicyService& service,
                           common::ServiceStatus service_status)
    : loop_(loop), log_(log), service_(service), service_status_(std::move(service_status)),
      question_timer_(loop, [this] { expire_questions(); }), busy_timer_(loop, [this] { free_busy_connections(); }) {}

std::uint64_t PolicyClient::ask(std::string request, Done done) {
    const auto id = ++last_;
    open_.emplace(id, Question{std::move(request), std::move(done), common::Loop::now().monotonic + service_.timeout});
    waiting_.push_back(id);
    if (!question_timer_.armed()) question_timer_.start(service_.timeout);
    dispatch();
    return id;
}

void PolicyClient::cancel(std::uint64_t question) {
    const auto asked = open_.find(question);
    if (asked == open_.end()) return;
    if (std::ranges::find(connections_, question, &ServerConnection::question) == connections_.end())
        open_.erase(asked);
    else
        asked->second.done = nullptr;
}

// A connection for one more question: only one whose question was cancelled is closed for it.
bool PolicyClient::make_room() {
    if (connections_.size() < service_.connections) return true;
    const auto idle = std::ranges::find_if(connections_, [&](const ServerConnection& connection) {
        const auto question = open_.find(connection.question);
        return question != open_.end() && !question->second.done;
    });
    if (idle == connections_.end()) return false;
    open_.erase(idle->question);
    connections_.erase(idle);
    return true;
}

void PolicyClient::dispatch() {
    for (auto connection = connections_.begin(); connection != connections_.end() && !waiting_.empty();) {
        if (connection->question != 0) {
            ++connection;
            continue;
        }
        const auto id = waiting_.front();
        waiting_.pop_front();
        if (open_.contains(id)) send(connection, id);
    }
    while (!waiting_.empty()) {
        const auto id = waiting_.front();
        if (open_.contains(id) && !make_room()) {
            if (!busy_timer_.armed()) busy_timer_.start(service_.busy_timeout);
            return;
        }
        waiting_.pop_front();
        if (!open_.contains(id)) continue;
        open_connection();
        send(std::prev(connections_.end()), id);
    }
}

void PolicyClient::open_connection() {
    const auto connection = connections_.emplace(connections_.end());
    connection->stream = std::make_unique<common::ClientStream>(
        loop_, service_.address,
        common::ClientStream::Callbacks{[this, connection](std::string_view bytes) { on_data(connection, bytes); },
                                        [this, connection](const std::string& why) { on_lost(connection, why); }});
}

void PolicyClient::send(ServerConnections::iterator connection, std::uint64_t question) {
    connection->question = question;
    connection->since = common::Loop::now().monotonic;
    connection->stream->send(open_.at(question).request);
}

void PolicyClient::on_data(ServerConnections::iterator connection, std::string_view bytes) {
    const auto state = connection->question == 0 ? PolicyAnswer::State::malformed : connection->answer.feed(bytes);
    if (state == PolicyAnswer::State::incomplete) return;
    if (state == PolicyAnswer::State::malformed) return on_lost(connection, "its answer is malformed");
    connection->fresh = false;
    service_status_.answered();
    const auto question = std::exchange(connection->question, 0);
    auto action = connection->answer.take();
    dispatch();
    finish(question, std::move(action));
}

// The connection is gone, and with it perhaps a question.
void PolicyClient::on_lost(ServerConnections::iterator connection, const std::string& why) {
    const auto id = connection->question;
    const bool stale = !connection->fresh;
    connections_.erase(connection);
    const auto question = open_.find(id);
    if (question == open_.end()) return dispatch();
    if (!question->second.done) { // it was cancelled
        open_.erase(question);
        return dispatch();
    }
    if (stale && !std::exchange(question->second.repeated, true)) {
        waiting_.push_front(id);
        return dispatch();
    }
    unavailable(why);
    dispatch();
    finish(id, {});
}

void PolicyClient::unavailable(const std::string& why) {
    log_.warning("policy service {}: {}", service_.name, why);
    service_status_.failed(why);
}

void PolicyClient::finish(std::uint64_t question, std::optional<std::string> action) {
    auto asked = open_.extract(question);
    if (!asked.empty() && asked.mapped().done) asked.mapped().done(std::move(action));
}

PolicyClient::ServerConnections::iterator PolicyClient::longest_busy() {
    return std::ranges::min_element(connections_, {}, [](const ServerConnection& connection) {
        return connection.question == 0 ? smtp::Monotonic::max() : connection.since;
    });
}

// While questions wait, none keeps its connection for longer than busy_timeout.
void PolicyClient::free_busy_connections() {
    dispatch();
    while (!waiting_.empty()) {
        const auto connection = longest_busy();
        const auto left = connection->since + service_.busy_timeout - common::Loop::now().monotonic;
        if (left > smtp::Duration{}) return busy_timer_.start(std::max<smtp::Duration>(left, 1ms));
        const auto id = connection->question;
        connections_.erase(connection);
        unavailable(service_.address.to_string() + ": no answer in time, while further requests are waiting");
        finish(id, {}); // may ask or cancel
        dispatch();
    }
}

void PolicyClient::expire_questions() {
    const auto now = common::Loop::now().monotonic;
    while (!open_.empty() && open_.begin()->second.until <= now) {
        const auto id = open_.begin()->first;
        std::erase_if(connections_, [&](const ServerConnection& connection) { return connection.question == id; });
        if (open_.begin()->second.done) unavailable(service_.address.to_string() + ": no answer in time");
        finish(id, {});
    }
    dispatch();
    if (!open_.empty()) question_timer_.start(std::max<smtp::Duration>(open_.begin()->second.until - now, 1ms));
}

} // namespace smtpd

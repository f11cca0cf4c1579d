#include "daemons/smtpd/policy/policy_client.h"
#include <algorithm>
#include <utility>

namespace smtpd {

using namespace std::chrono_literals;

PolicyClient::PolicyClient(common::Loop& loop, common::Log& log, const config::PolicyService& service,
                           common::Availability availability)
    : loop_(loop), log_(log), service_(service), availability_(std::move(availability)),
      patience_(loop, [this] { give_up(); }), relief_(loop, [this] { relieve(); }) {}

std::uint64_t PolicyClient::ask(std::string request, Done done) {
    const auto id = ++last_;
    open_.emplace(
        id, Question{std::move(request), std::move(done), common::Loop::now().monotonic + service_.timeout});
    waiting_.push_back(id);
    if (!patience_.armed()) patience_.start(service_.timeout);
    dispatch();
    return id;
}

void PolicyClient::cancel(std::uint64_t question) {
    const auto asked = open_.find(question);
    if (asked == open_.end()) return;
    if (std::ranges::find(lines_, question, &Line::question) == lines_.end())
        open_.erase(asked);
    else
        asked->second.done = nullptr;
}

// A line for one more question: none that is busy for somebody is taken from him.
bool PolicyClient::make_room() {
    if (lines_.size() < service_.connections) return true;
    const auto idle = std::ranges::find_if(lines_, [&](const Line& line) {
        const auto question = open_.find(line.question);
        return question != open_.end() && !question->second.done;
    });
    if (idle == lines_.end()) return false;
    open_.erase(idle->question);
    lines_.erase(idle);
    return true;
}

void PolicyClient::dispatch() {
    for (auto line = lines_.begin(); line != lines_.end() && !waiting_.empty();) {
        if (line->question != 0) {
            ++line;
            continue;
        }
        const auto id = waiting_.front();
        waiting_.pop_front();
        if (open_.contains(id)) put(line, id);
    }
    while (!waiting_.empty()) {
        const auto id = waiting_.front();
        if (open_.contains(id) && !make_room()) {
            if (!relief_.armed()) relief_.start(service_.busy_timeout);
            return;
        }
        waiting_.pop_front();
        if (!open_.contains(id)) continue;
        open_line();
        put(std::prev(lines_.end()), id);
    }
}

void PolicyClient::open_line() {
    const auto line = lines_.emplace(lines_.end());
    line->stream = std::make_unique<common::ClientStream>(
        loop_, service_.address,
        common::ClientStream::Callbacks{[this, line](std::string_view bytes) { heard(line, bytes); },
                                        [this, line](const std::string& why) { lost(line, why); }});
}

void PolicyClient::put(Lines::iterator line, std::uint64_t question) {
    line->question = question;
    line->since = common::Loop::now().monotonic;
    line->stream->send(open_.at(question).request);
}

void PolicyClient::heard(Lines::iterator line, std::string_view bytes) {
    const auto state = line->question == 0 ? PolicyAnswer::State::malformed : line->answer.feed(bytes);
    if (state == PolicyAnswer::State::incomplete) return;
    if (state == PolicyAnswer::State::malformed) return lost(line, "its answer is malformed");
    line->fresh = false;
    availability_.answered();
    const auto question = std::exchange(line->question, 0);
    auto action = line->answer.take();
    dispatch();
    finish(question, std::move(action));
}

// The line is gone, and with it perhaps a question.
void PolicyClient::lost(Lines::iterator line, const std::string& why) {
    const auto id = line->question;
    const bool stale = !line->fresh;
    lines_.erase(line);
    const auto question = open_.find(id);
    if (question == open_.end()) return dispatch();
    if (!question->second.done) { // nobody waits for it
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
    availability_.failed(why);
}

void PolicyClient::finish(std::uint64_t question, std::optional<std::string> action) {
    auto asked = open_.extract(question);
    if (!asked.empty() && asked.mapped().done) asked.mapped().done(std::move(action));
}

PolicyClient::Lines::iterator PolicyClient::longest_busy() {
    return std::ranges::min_element(lines_, {}, [](const Line& line) {
        return line.question == 0 ? smtp::Monotonic::max() : line.since;
    });
}

// While questions wait, none keeps its line for longer than busy_timeout.
void PolicyClient::relieve() {
    dispatch();
    while (!waiting_.empty()) {
        const auto line = longest_busy();
        const auto left = line->since + service_.busy_timeout - common::Loop::now().monotonic;
        if (left > smtp::Duration{}) return relief_.start(std::max<smtp::Duration>(left, 1ms));
        const auto id = line->question;
        lines_.erase(line);
        unavailable(service_.address.to_string() + ": no answer in time, while further questions wait");
        finish(id, {}); // may ask or cancel
        dispatch();
    }
}

void PolicyClient::give_up() {
    const auto now = common::Loop::now().monotonic;
    while (!open_.empty() && open_.begin()->second.until <= now) {
        const auto id = open_.begin()->first;
        std::erase_if(lines_, [&](const Line& line) { return line.question == id; });
        if (open_.begin()->second.done) unavailable(service_.address.to_string() + ": no answer in time");
        finish(id, {});
    }
    dispatch();
    if (!open_.empty()) patience_.start(std::max<smtp::Duration>(open_.begin()->second.until - now, 1ms));
}

} // namespace smtpd

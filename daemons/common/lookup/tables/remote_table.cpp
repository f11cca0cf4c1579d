#include "daemons/common/lookup/tables/remote_table.h"
#include "daemons/common/runtime/destroy_later.h"
#include "daemons/common/text/units.h"
#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace tables {

// A connection.
struct RemoteTable::Connection {
    std::unique_ptr<common::ClientStream> stream;
    std::unique_ptr<common::Timer> timeout;
    std::string key, buffer; // the key being looked up; "": idle
    smtp::Monotonic since{}; // when the lookup began
    bool used = false;       // it has answered before
    bool done = false;       // given up; further data is ignored
};

RemoteTable::RemoteTable(common::Loop& loop, common::Log& log, std::string name, Service service, OnAnswer on_answer)
    : FetchedTable(log, std::move(name), service.cache, std::move(on_answer)), loop_(loop),
      service_(std::move(service)), slow_request_timer_(loop, [this] { expire_slow_requests(); }) {}

RemoteTable::~RemoteTable() = default;

void RemoteTable::fetch() {
    for (;;) {
        auto idle = std::ranges::find_if(connections_, [](const auto& line) { return line->key.empty(); });
        if (idle == connections_.end() && connections_.size() >= most_connections) {
            if (has_waiting_keys() && !slow_request_timer_.armed())
                slow_request_timer_.start(service_.contended_timeout);
            return;
        }
        auto key = next();
        if (!key) return;
        if (idle == connections_.end()) idle = connections_.insert(connections_.end(), std::make_unique<Connection>());
        put(**idle, *std::move(key));
    }
}

void RemoteTable::put(Connection& line, std::string key) {
    if (!line.stream) {
        line.timeout = std::make_unique<common::Timer>(loop_, [this, &line] {
            request_failed(line, fmt::format("no answer within {}", config::print_duration(service_.timeout)));
        });
        line.stream = std::make_unique<common::ClientStream>(
            loop_, service_.address,
            common::ClientStream::Callbacks{[this, &line](std::string_view bytes) { on_data(line, bytes); },
                                            [this, &line](const std::string& why) { on_closed(line, why); }});
    }
    line.stream->send(service_.request(key));
    line.key = std::move(key);
    line.since = common::Loop::now().monotonic;
    line.timeout->start(service_.timeout);
}

void RemoteTable::on_data(Connection& line, std::string_view bytes) {
    if (line.done) return;
    line.buffer += bytes;
    if (line.key.empty()) return give_up("it sent data without a query");
    const auto reply = service_.parse_reply(line.buffer);
    if (!reply) return request_failed(line, reply.error().why);
    if (!*reply) return;
    line.buffer.erase(0, (*reply)->bytes);
    if (!line.buffer.empty()) return request_failed(line, "unexpected data after its answer");
    line.timeout->stop();
    line.used = true;
    consecutive_failures_ = 0;
    const auto key = std::exchange(line.key, {});
    last_answered_key_ = key;
    answers_quickly_ = common::Loop::now().monotonic - line.since < service_.contended_timeout / 4;
    if ((*reply)->whole_table) { // once, not for each key that was under way
        if (is_pending(key)) failed((*reply)->answer.why);
        return;
    }
    fetch();
    answered(key, (*reply)->answer);
}

void RemoteTable::on_closed(Connection& line, const std::string& why) {
    if (line.done) return;
    const auto key = line.key;
    const bool idle = key.empty(), once_more = line.used && line.buffer.empty();
    if (!idle && !once_more) return request_failed(line, why);
    std::erase_if(connections_, [&](const auto& each) { return each.get() == &line; });
    if (idle) return;
    put_back(key); // the service had closed the connection before it saw the request
    fetch();
}

// The lookup on this connection has failed, and the connection is closed: the others continue.
void RemoteTable::request_failed(Connection& line, std::string why) {
    if (!line.stream->connected() && !service_.unreachable.empty()) why = service_.unreachable;
    if (!line.stream->connected() ||
        (++consecutive_failures_ >= max_consecutive_failures && !may_be_key_specific(line)))
        return give_up(std::move(why));
    const auto key = line.key;
    const auto at = std::ranges::find(connections_, &line, &std::unique_ptr<Connection>::get);
    std::vector<std::unique_ptr<Connection>> one;
    one.push_back(std::move(*at));
    connections_.erase(at);
    leave(std::move(one));
    fetch();
    key_failed(key, std::move(why));
}

// Looks up again a key that was answered before: the result shows whether the service is at fault.
bool RemoteTable::may_be_key_specific(const Connection& line) {
    if (last_answered_key_.empty() || line.key == last_answered_key_) return false;
    if (std::ranges::none_of(connections_, [&](const auto& each) { return each->key == last_answered_key_; }))
        ask_first(last_answered_key_);
    return true;
}

// Other keys wait, and the service is quick when it answers at all.
void RemoteTable::expire_slow_requests() {
    const auto now = common::Loop::now().monotonic;
    while (answers_quickly_ && has_waiting_keys()) {
        const auto oldest = std::ranges::min_element(connections_, {}, [](const auto& line) {
            return line->key.empty() ? smtp::Monotonic::max() : line->since;
        });
        if (oldest == connections_.end() || (*oldest)->key.empty()) return;
        const auto left = (*oldest)->since + service_.contended_timeout - now;
        if (left > smtp::Duration{}) return slow_request_timer_.start(left);
        request_failed(**oldest, fmt::format("no answer within {}, while other keys wait",
                                             config::print_duration(service_.contended_timeout)));
    }
}

void RemoteTable::give_up(std::string why) {
    leave(std::exchange(connections_, {}));
    failed(std::move(why));
}

// May be called from within the callbacks of these connections.
void RemoteTable::leave(std::vector<std::unique_ptr<Connection>>&& lines) {
    for (auto& line : lines) {
        line->done = true;
        line->timeout->stop();
    }
    common::destroy_later(loop_, std::move(lines));
}

} // namespace tables

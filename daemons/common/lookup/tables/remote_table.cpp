#include "daemons/common/lookup/tables/remote_table.h"
#include "daemons/common/text/units.h"
#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace tables {

// A connection.
struct RemoteTable::Line {
    std::unique_ptr<common::ClientStream> stream;
    std::unique_ptr<common::Timer> patience;
    std::string key, buffer; // the key it was asked for; "" it is idle
    smtp::Monotonic since{}; // when it was
    bool used = false;       // it has answered before
    bool done = false;       // given up; what it still says does not count
};

RemoteTable::RemoteTable(common::Loop& loop, common::Log& log, std::string name, Service service, Known known)
    : FetchedTable(log, std::move(name), service.cache, std::move(known)), loop_(loop), service_(std::move(service)),
      relief_(loop, [this] { relieve(); }) {}

RemoteTable::~RemoteTable() = default;

void RemoteTable::fetch() {
    for (;;) {
        auto idle = std::ranges::find_if(lines_, [](const auto& line) { return line->key.empty(); });
        if (idle == lines_.end() && lines_.size() >= most_connections) {
            if (somebody_waits() && !relief_.armed()) relief_.start(service_.crowded_timeout);
            return;
        }
        auto key = next();
        if (!key) return;
        if (idle == lines_.end()) idle = lines_.insert(lines_.end(), std::make_unique<Line>());
        put(**idle, *std::move(key));
    }
}

void RemoteTable::put(Line& line, std::string key) {
    if (!line.stream) {
        line.patience = std::make_unique<common::Timer>(loop_, [this, &line] {
            in_vain(line, fmt::format("no answer within {}", config::print_duration(service_.timeout)));
        });
        line.stream = std::make_unique<common::ClientStream>(
            loop_, service_.address,
            common::ClientStream::Callbacks{[this, &line](std::string_view bytes) { heard(line, bytes); },
                                            [this, &line](const std::string& why) { lost(line, why); }});
    }
    line.stream->send(service_.question(key));
    line.key = std::move(key);
    line.since = common::Loop::now().monotonic;
    line.patience->start(service_.timeout);
}

void RemoteTable::heard(Line& line, std::string_view bytes) {
    if (line.done) return;
    line.buffer += bytes;
    if (line.key.empty()) return give_up("it speaks without having been asked");
    const auto reply = service_.hear(line.buffer);
    if (!reply) return in_vain(line, reply.error().why);
    if (!*reply) return;
    line.buffer.erase(0, (*reply)->bytes);
    if (!line.buffer.empty()) return in_vain(line, "it says more than it was asked");
    line.patience->stop();
    line.used = true;
    in_a_row_ = 0;
    const auto key = std::exchange(line.key, {});
    answered_before_ = key;
    quick_ = common::Loop::now().monotonic - line.since < service_.crowded_timeout / 4;
    fetch();
    answered(key, (*reply)->answer);
}

void RemoteTable::lost(Line& line, const std::string& why) {
    if (line.done) return;
    const auto key = line.key;
    const bool idle = key.empty(), once_more = line.used && line.buffer.empty();
    if (!idle && !once_more) return in_vain(line, why);
    std::erase_if(lines_, [&](const auto& each) { return each.get() == &line; });
    if (idle) return;
    put_back(key); // it had closed before it saw the question
    fetch();
}

// The question this connection was asked has come to nothing, and the connection with it: the others go on.
void RemoteTable::in_vain(Line& line, std::string why) {
    if (!line.stream->connected() || (++in_a_row_ >= most_in_a_row && !may_be_the_keys(line)))
        return give_up(std::move(why));
    const auto key = line.key;
    const auto at = std::ranges::find(lines_, &line, &std::unique_ptr<Line>::get);
    std::vector<std::unique_ptr<Line>> one;
    one.push_back(std::move(*at));
    lines_.erase(at);
    leave(std::move(one));
    fetch();
    came_to_nothing(key, std::move(why));
}

// One that was answered before is asked again: what becomes of it says whether it is the service.
bool RemoteTable::may_be_the_keys(const Line& line) {
    if (answered_before_.empty() || line.key == answered_before_) return false;
    if (std::ranges::none_of(lines_, [&](const auto& each) { return each->key == answered_before_; }))
        ask_first(answered_before_);
    return true;
}

// Others wait, and the service answers quickly what it answers at all.
void RemoteTable::relieve() {
    const auto now = common::Loop::now().monotonic;
    while (quick_ && somebody_waits()) {
        const auto oldest = std::ranges::min_element(lines_, {}, [](const auto& line) {
            return line->key.empty() ? smtp::Monotonic::max() : line->since;
        });
        if (oldest == lines_.end() || (*oldest)->key.empty()) return;
        const auto left = (*oldest)->since + service_.crowded_timeout - now;
        if (left > smtp::Duration{}) return relief_.start(left);
        in_vain(**oldest, fmt::format("no answer within {}, while other keys wait",
                                      config::print_duration(service_.crowded_timeout)));
    }
}

void RemoteTable::give_up(std::string why) {
    leave(std::exchange(lines_, {}));
    failed(std::move(why));
}

// May be called from within their callbacks.
void RemoteTable::leave(std::vector<std::unique_ptr<Line>>&& lines) {
    for (auto& line : lines) {
        line->done = true;
        line->patience->stop();
    }
    loop_.later([kept = std::make_shared<std::vector<std::unique_ptr<Line>>>(std::move(lines))] { static_cast<void>(kept); });
}

} // namespace tables

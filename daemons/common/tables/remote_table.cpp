#include "daemons/common/tables/remote_table.h"
#include "daemons/common/config/units.h"
#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace tables {

// A connection.
struct RemoteTable::Line {
    std::unique_ptr<common::ClientStream> stream;
    std::unique_ptr<common::Timer> patience;
    std::string key, buffer; // the key it was asked for; "" it is idle
    bool used = false;       // it has answered before
    bool done = false;       // given up; what it still says does not count
};

RemoteTable::RemoteTable(common::Loop& loop, common::Log& log, std::string name, Service service, Known known)
    : FetchedTable(log, std::move(name), service.cache, std::move(known)), loop_(loop), service_(std::move(service)) {}

RemoteTable::~RemoteTable() = default;

void RemoteTable::fetch() {
    for (;;) {
        auto idle = std::ranges::find_if(lines_, [](const auto& line) { return line->key.empty(); });
        if (idle == lines_.end() && lines_.size() >= most_connections) return;
        auto key = next();
        if (!key) return;
        if (idle == lines_.end()) idle = lines_.insert(lines_.end(), std::make_unique<Line>());
        put(**idle, *std::move(key));
    }
}

void RemoteTable::put(Line& line, std::string key) {
    if (!line.stream) {
        line.patience = std::make_unique<common::Timer>(loop_, [this] {
            give_up(fmt::format("no answer within {}", config::print_duration(service_.timeout)));
        });
        line.stream = std::make_unique<common::ClientStream>(
            loop_, service_.address,
            common::ClientStream::Callbacks{[this, &line](std::string_view bytes) { heard(line, bytes); },
                                            [this, &line](const std::string& why) { lost(line, why); }});
    }
    line.stream->send(service_.question(key));
    line.key = std::move(key);
    line.patience->start(service_.timeout);
}

void RemoteTable::heard(Line& line, std::string_view bytes) {
    if (line.done) return;
    line.buffer += bytes;
    if (line.key.empty()) return give_up("it speaks without having been asked");
    const auto reply = service_.hear(line.buffer);
    if (!reply) return give_up(reply.error().why);
    if (!*reply) return;
    line.buffer.erase(0, (*reply)->bytes);
    if (!line.buffer.empty()) return give_up("it says more than it was asked");
    line.patience->stop();
    line.used = true;
    const auto key = std::exchange(line.key, {});
    fetch();
    answered(key, (*reply)->answer);
}

void RemoteTable::lost(Line& line, const std::string& why) {
    if (line.done) return;
    const auto key = line.key;
    const bool idle = key.empty(), once_more = line.used && line.buffer.empty();
    if (!idle && !once_more) return give_up(why);
    std::erase_if(lines_, [&](const auto& each) { return each.get() == &line; });
    if (idle) return;
    put_back(key); // it had closed before it saw the question
    fetch();
}

void RemoteTable::give_up(std::string why) {
    for (auto& line : lines_) {
        line->done = true;
        line->patience->stop();
    }
    loop_.later([lines = std::make_shared<decltype(lines_)>(std::exchange(lines_, {}))] { static_cast<void>(lines); });
    failed(std::move(why));
}

} // namespace tables

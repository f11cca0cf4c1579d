#include "daemons/metrics/text_readers.h"
#include "daemons/common/runtime/destroy_later.h"
#include <utility>

namespace metrics {

using namespace proto::metrics_text;

void TextReaders::attach(std::unique_ptr<Channel> channel) {
    if (readers_.size() >= most) return channel->fail("too many connections");
    const auto number = ++last_;
    auto& reader = readers_[number];
    reader.channel = std::move(channel);
    reader.channel->set_callbacks({[this, number](Message&& message) { take(number, message); },
                                   [this, number](const std::string&) { forget(number); }});
}

void TextReaders::take(std::uint64_t number, const Message& message) {
    auto& reader = readers_.at(number);
    if (!std::holds_alternative<Scrape>(message) || reader.asked)
        return reader.channel->fail("a request that is not valid");
    reader.asked = true;
    collect_([this, number, alive = std::weak_ptr(life_)] {
        if (!alive.expired()) answer(number);
    });
}

void TextReaders::answer(std::uint64_t number) {
    const auto found = readers_.find(number);
    if (found == readers_.end()) return;
    auto& [channel, asked] = found->second;
    asked = false;
    const auto text = text_();
    for (std::size_t at = 0; at <= text.size() && channel->open(); at += largest_piece) {
        const bool last = at + largest_piece > text.size();
        if (channel->send(Piece{text.substr(at, largest_piece), last}) == ipc::SendResult::too_long)
            return channel->fail("a piece that is too long");
    }
}

void TextReaders::forget(std::uint64_t number) {
    auto reader = readers_.extract(number);
    if (reader) common::destroy_later(loop_, std::move(reader.mapped().channel)); // its callback is running
}

} // namespace metrics

#include "libspool/journal/pending_lines.h"
#include <algorithm>

namespace spool::journal {

void PendingLines::start(std::string node, std::uint64_t next) {
    node_ = std::move(node);
    waiting_ = Lines{.first = next, .last = next - 1, .bytes = {}};
    settled_ = next - 1;
}

bool PendingLines::full() const {
    return waiting_.last + 1 - waiting_.first >= most_lines || waiting_.bytes.size() >= most_bytes;
}

std::string& PendingLines::begin() {
    ++waiting_.last;
    return waiting_.bytes;
}

void PendingLines::head(JsonObject& line, EventType type, smtp::WallTime time) const {
    line.number("v", 1);
    line.number("seq", waiting_.last);
    line.word("node", node_);
    line.time("time", time);
    line.word("type", name_of(type));
}

std::uint64_t PendingLines::add_gap(const Numbers& missing, std::string_view why, smtp::WallTime time) {
    return add(EventType::journal_gap, time, [&](JsonObject& line) {
        line.number("from", missing.from);
        line.number("to", missing.to);
        line.text("why", why);
    });
}

Lines PendingLines::take(smtp::WallTime now) {
    gap_taken_ = std::exchange(gap_, {});
    if (gap_taken_) add_gap(*gap_taken_, gap_why_, now);
    Lines batch = std::move(waiting_);
    waiting_ = Lines{.first = batch.last + 1, .last = batch.last, .bytes = std::exchange(spare_, {})};
    return batch;
}

void PendingLines::written(Lines&& batch) {
    gap_taken_.reset();
    settled_ = std::max(settled_, batch.last);
    batch.bytes.clear();
    if (batch.bytes.capacity() <= most_bytes / 16) spare_ = std::move(batch.bytes);
}

void PendingLines::lost(Lines&& batch, std::string_view why) {
    if (gap_taken_) missing(gap_taken_->from, gap_taken_->to, why);
    missing(batch.first, batch.last, why);
    written(std::move(batch));
}

// They follow the batch that the writer has, or a gap that is not named yet: what is missing is always one range.
void PendingLines::give_up_waiting() {
    missing(waiting_.first, waiting_.last, "the disk does not keep up");
    waiting_.first = waiting_.last + 1;
    waiting_.bytes.clear();
}

void PendingLines::missing(std::uint64_t from, std::uint64_t to, std::string_view why) {
    if (to < from) return;
    gap_why_ = why;
    gap_ = gap_ ? Numbers{std::min(gap_->from, from), std::max(gap_->to, to)} : Numbers{from, to};
}

} // namespace spool::journal

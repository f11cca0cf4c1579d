#include "libspool/journal/pending_lines.h"
#include "libspool/journal/journal_line.h"
#include <algorithm>
#include <utility>

namespace spool::journal {

void PendingLines::start(std::string node, std::uint64_t next) {
    node_ = std::move(node);
    waiting_ = Lines{.first = next, .last = next - 1, .bytes = {}};
    settled_ = next - 1;
}

void PendingLines::head(JsonObject& line, EventType type, smtp::WallTime time) const {
    line.number("v", journal_version);
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

void PendingLines::begin_batch() {
    const auto last = waiting_.last;
    older_bytes_ += waiting_.bytes.size();
    older_.push_back(std::exchange(waiting_, Lines{.first = last + 1, .last = last, .bytes = {}}));
}

Lines PendingLines::take(smtp::WallTime now) {
    if (!gaps_.empty() && gaps_named_.empty()) {
        gaps_named_ = std::exchange(gaps_, {});
        naming_.from = waiting_.last + 1;
        for (const auto& gap : gaps_named_) naming_.to = add_gap(gap, gap_why_, now);
    }
    if (!older_.empty()) {
        auto batch = std::move(older_.front());
        older_.pop_front();
        older_bytes_ -= batch.bytes.size();
        return batch;
    }
    const auto last = waiting_.last;
    return std::exchange(waiting_, Lines{.first = last + 1, .last = last, .bytes = std::exchange(spare_, {})});
}

void PendingLines::written(Lines&& batch) {
    if (naming_.to <= batch.last) gaps_named_.clear();
    settled_ = std::max(settled_, batch.last);
    batch.bytes.clear();
    if (batch.bytes.capacity() <= most_bytes / 16) spare_ = std::move(batch.bytes);
}

void PendingLines::lost(Lines&& batch, std::string_view why) {
    gap_why_ = why;
    miss_names_of_gaps({batch.first, batch.last});
    missing({batch.first, batch.last});
    written(std::move(batch));
}

// The writer does not come to an end with the batch that it has.
void PendingLines::give_up_waiting() {
    const auto first = older_.empty() ? waiting_.first : older_.front().first;
    gap_why_ = "the disk does not keep up";
    miss_names_of_gaps({first, waiting_.last});
    missing({first, waiting_.last});
    older_.clear();
    older_bytes_ = 0;
    waiting_ = Lines{.first = waiting_.last + 1, .last = waiting_.last, .bytes = {}};
}

void PendingLines::missing(const Numbers& numbers) {
    if (numbers.to < numbers.from) return;
    if (!gaps_.empty() && gaps_.back().to + 1 == numbers.from)
        gaps_.back().to = numbers.to;
    else
        gaps_.push_back(numbers);
}

// These lines are not going to be written: if they name gaps, others must.
void PendingLines::miss_names_of_gaps(const Numbers& lines) {
    if (gaps_named_.empty() || naming_.to < lines.from || lines.to < naming_.from) return;
    gaps_.insert(gaps_.begin(), gaps_named_.begin(), gaps_named_.end());
    gaps_named_.clear();
}

} // namespace spool::journal

// Lines of the journal that are not on stable storage yet. Gives each its number, hands them to the writer in batches,
// and names those that could not be written in a journal.gap. Pure: no files, no clock.
#pragma once
#include "libspool/journal/event_type.h"
#include "libspool/journal/json_object.h"
#include "libspool/journal/numbers.h"
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spool::journal {

// Whole lines with the numbers first, first + 1 … last.
struct Lines {
    std::uint64_t first = 1, last = 0; // last < first: none
    std::string bytes;
    bool empty() const { return last < first; }
};

class PendingLines {
public:
    // Of a batch. Fewer than the numbers that an unclean start skips (Directory::skipped), so that a line which was
    // written, but lost in a power cut, is not numbered again.
    static constexpr std::uint64_t most_lines = 50'000;
    // What waits for the writer at most; beyond, all of it is given up.
    static constexpr std::size_t most_bytes = 64 << 20;

    // `node`: of this spool; `next`: the number of the next line.
    void start(std::string node, std::uint64_t next);
    // From now on each line, which begins at `from` in the buffer and has no end yet, is changed so.
    using Rewrite = std::function<void(std::string& buffer, std::size_t from)>;
    void rewrite_with(Rewrite rewrite) { rewrite_ = std::move(rewrite); }

    // Adds a line, its members after the first five written by `fill(JsonObject&)`: its number.
    template <class Fill> std::uint64_t add(EventType type, smtp::WallTime time, Fill&& fill) {
        if (older_bytes_ + waiting_.bytes.size() >= most_bytes) give_up_waiting();
        if (waiting_.last + 1 - waiting_.first >= most_lines) begin_batch();
        ++waiting_.last;
        const auto begin = waiting_.bytes.size();
        JsonObject line(waiting_.bytes);
        head(line, type, time);
        fill(line);
        line.close();
        if (rewrite_) rewrite_(waiting_.bytes, begin);
        waiting_.bytes += '\n';
        return waiting_.last;
    }
    // Names numbers that no line has.
    std::uint64_t add_gap(const Numbers& missing, std::string_view why, smtp::WallTime time);

    // What has waited longest, for the writer; one batch at a time. Gaps to be named get their lines now. Empty if
    // there is nothing to write.
    Lines take(smtp::WallTime now);
    // The batch is on stable storage. The buffer is used again.
    void written(Lines&& batch);
    // It could not be written, and is not going to be: a gap will name it.
    void lost(Lines&& batch, std::string_view why);

    bool empty() const { return waiting_.empty() && older_.empty() && gaps_.empty(); }
    std::uint64_t last() const { return waiting_.last; }             // number of the latest line
    std::uint64_t count() const { return waiting_.last - settled_; } // lines that are neither written nor given up
    // Up to this number all lines are on stable storage, or given up.
    std::uint64_t settled() const { return settled_; }

private:
    void head(JsonObject& line, EventType type, smtp::WallTime time) const;
    void begin_batch();
    void give_up_waiting();
    void missing(const Numbers& numbers);
    void miss_names_of_gaps(const Numbers& lines);

    std::string node_;
    Rewrite rewrite_;
    Lines waiting_;           // lines are added to it
    std::deque<Lines> older_; // whole batches before it
    std::size_t older_bytes_ = 0;
    std::string spare_; // a buffer that was written
    std::uint64_t settled_ = 0;
    std::vector<Numbers> gaps_;       // to be named
    std::vector<Numbers> gaps_named_; // in lines that are not written yet …
    Numbers naming_;                  // … which are among these
    std::string gap_why_;
};

} // namespace spool::journal

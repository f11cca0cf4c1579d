#include "daemons/queue-manager/journal/journal.h"
#include <memory>
#include <utility>

namespace queue_manager {

using common::Loop;
using spool::journal::EventType;
using spool::journal::JsonObject;

Journal::Journal(Dependencies dependencies, const config::History& settings)
    : deps_(std::move(dependencies)), settings_(settings), timer_(deps_.loop, [this] { open_ ? write() : open(); }) {}

// ---- start ----

void Journal::begin() {
    if (settings_.enabled) opened(deps_.files.open());
}

void Journal::open() {
    writing_ = true;
    deps_.pool.post([this, &pool = deps_.pool, &files = deps_.files] {
        auto result = files.open();
        pool.complete([this, result = std::move(result)]() mutable {
            writing_ = false;
            opened(std::move(result));
        });
    });
}

void Journal::opened(spool::Result<JournalFiles::Opened> files) {
    if (!files) return failed(files.error().what);
    open_ = true;
    auto& beginning = files->beginning;
    lines_.start(beginning.node, beginning.next);
    tail_ = std::move(beginning.tail);
    hash_ = std::move(files->hash);
    if (hash_ && settings_.addresses == config::RecordedAddresses::hashed)
        lines_.rewrite_with([this](std::string& buffer, std::size_t from) { hash_->hash_line(buffer, from); });
    const auto now = Loop::now().wall;
    for (const auto& missing : beginning.missing)
        lines_.add_gap(missing, "the queue-manager did not stop in order", now);
    if (const auto count = std::exchange(unrecorded_, 0); count > 0)
        lines_.add(EventType::journal_gap, now, [&](JsonObject& line) {
            line.number("count", count);
            line.text("why", "the journal could not be opened");
        });
    if (lines_.empty()) return recovered(); // there may be nothing to write until it counts as recovered
    write();
}

// ---- writing ----

void Journal::write_soon() {
    if (writing_ || lines_.empty()) return;
    if (!failing_ && (lines_.count() >= most_lines || waiting_.size() >= worth_a_sync)) return write();
    if (!timer_.armed()) timer_.start(failing_ ? retry_pause : settings_.sync);
}

void Journal::write() {
    if (writing_ || !open_) return;
    timer_.stop();
    const auto now = Loop::now();
    auto batch = std::make_unique<spool::journal::Lines>(lines_.take(now.wall));
    if (batch->empty()) return;
    writing_ = true;
    // By then this may be destroyed; the pool and the files are not.
    deps_.pool.post([this, &pool = deps_.pool, &files = deps_.files, batch = std::move(batch), now]() mutable {
        auto result = files.append(*batch, now.monotonic);
        pool.complete([this, batch = std::move(batch), result = std::move(result), begun = now.monotonic] {
            writing_ = false;
            written(std::move(*batch), result, begun);
            write_soon();
        });
    });
}

void Journal::written(spool::journal::Lines&& batch, const spool::Result<>& result, smtp::Monotonic begun) {
    using common::MetricId;
    deps_.metrics.add(result ? MetricId::journal_events : MetricId::journal_events_lost, batch.last + 1 - batch.first);
    if (result) {
        deps_.metrics.observe(MetricId::journal_sync_seconds, Loop::now().monotonic - begun);
        lines_.written(std::move(batch));
        recovered();
    } else {
        lines_.lost(std::move(batch), result.error().what);
        failed(result.error().what);
    }
    release();
}

void Journal::failed(const std::string& why) {
    if (!std::exchange(failing_, true))
        deps_.log.critical("journal: {}: what becomes of messages is not recorded until this works again; mail is "
                           "delivered nevertheless",
                           why);
    deps_.report_failure("the journal cannot be written: " + why);
    if (!timer_.armed()) timer_.start(retry_pause);
}

void Journal::recovered() {
    if (!std::exchange(failing_, false)) return;
    deps_.log.info("journal: it is written again");
    deps_.report_failure("");
}

// ---- what waits ----

void Journal::when_durable(Task task) {
    if (!settings_.enabled || !open_ || failing_ || lines_.settled() == lines_.last()) return task();
    waiting_.push_back({lines_.last(), std::move(task)});
    if (waiting_.size() == worth_a_sync) write();
    if (waiting_.size() > most_waiting && !std::exchange(deliveries_paused_, true)) deps_.pause_deliveries(true);
}

void Journal::release() {
    while (!waiting_.empty() && (failing_ || waiting_.front().line <= lines_.settled())) {
        auto task = std::move(waiting_.front().task);
        waiting_.pop_front();
        task();
    }
    if (waiting_.size() <= most_waiting / 2 && std::exchange(deliveries_paused_, false)) deps_.pause_deliveries(false);
}

// Once all lines are written, the next batch begins with lines that came later, if there are any, or with this event.
void Journal::end_segment(std::string who, std::move_only_function<void(std::uint64_t through)> done) {
    if (!settings_.enabled || !open_ || failing_) return done(0);
    when_durable([this, who = std::move(who), done = std::move(done)]() mutable {
        deps_.files.begin_segment();
        add(EventType::journal_erased, [&](JsonObject& event) { event.text("who", who); });
        when_durable(
            [this, done = std::move(done)]() mutable { done(failing_ ? 0 : deps_.files.segment_first() - 1); });
        if (!writing_) write();
    });
}

// ---- stop ----

bool Journal::drain() {
    if (!settings_.enabled || !open_) return true;
    if (!failing_) write();
    return !writing_ && waiting_.empty() && (failing_ || lines_.empty());
}

void Journal::finish() {
    if (!settings_.enabled || !open_ || writing_) return;
    timer_.stop();
    const auto now = Loop::now();
    while (!lines_.empty()) {
        auto batch = lines_.take(now.wall);
        const auto result = deps_.files.append(batch, now.monotonic);
        written(std::move(batch), result, now.monotonic);
        if (!result) return;
    }
    if (failing_) return;
    if (const auto marked = deps_.files.stopped(lines_.last()); !marked)
        deps_.log.warning("journal: {}: the next start will skip numbers", marked.error().what);
}

} // namespace queue_manager

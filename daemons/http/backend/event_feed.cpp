#include "daemons/http/backend/event_feed.h"
#include "libspool/journal/segments/segment_list.h"
#include <algorithm>
#include <utility>

namespace http {

namespace {

constexpr auto journal_directory = "."; // on the disk that is opened there
// Blocks that are read at once: half of what a stream may keep, so that a client that reads is not cut by a burst.
constexpr std::size_t most_blocks = 2;
constexpr smtp::Duration between_parts = std::chrono::milliseconds(25);

// Up to event `through`; the cursor stays where it stopped.
bool read_events(spool::JournalCursor& cursor, std::uint64_t through, std::size_t blocks,
                 std::vector<FeedEvent>& into) {
    for (std::size_t n = 0; n < blocks; ++n) {
        const auto more = cursor.read(
            through,
            [&](const spool::JournalLine& line) {
                into.push_back({line.number, std::string(spool::type_of(line)), std::string(line.text)});
            },
            [](const spool::Damage&) {}); // the journal's own commands report it
        if (!more) return false;
        if (!*more) break;
    }
    return true;
}

} // namespace

EventFeed::EventFeed(common::Loop& loop, std::string path)
    : loop_(loop), path_(std::move(path)), look_(loop), earlier_(loop), timer_(loop, [this] { look(); }) {}

std::uint64_t EventFeed::follow(std::optional<std::uint64_t> after, Follower follower) {
    const auto number = ++last_;
    auto& state = followers_[number];
    state.follower = std::move(follower);
    if (after) state.next = *after + 1;
    if (!timer_.armed() && !look_.busy()) {
        tail_.reset(); // what came while there was no follower is not wanted
        tail_next_ = 0;
        timer_.start(smtp::Duration::zero());
    }
    return number;
}

void EventFeed::unfollow(std::uint64_t number) { followers_.erase(number); }

void EventFeed::look() {
    if (followers_.empty() || look_.busy()) return;
    const auto reading = std::make_shared<Reading>();
    reading->disk = disk_;
    reading->cursor = tail_;
    look_.start(
        [reading, path = path_] {
            if (!reading->disk) {
                auto disk = spool::RealDisk::open_at(path);
                if (!disk) return static_cast<void>(reading->failed = true);
                reading->disk = *std::move(disk);
            }
            const auto published = spool::published_number(*reading->disk, journal_directory);
            if (!published) return static_cast<void>(reading->failed = true);
            reading->published = published->value_or(0);
            if (!reading->cursor)
                reading->cursor =
                    std::make_shared<spool::JournalCursor>(*reading->disk, journal_directory, reading->published + 1);
            reading->failed = !read_events(*reading->cursor, reading->published, most_blocks, reading->events);
        },
        [this, reading] { took(*reading); });
}

void EventFeed::took(Reading& reading) {
    const bool more = !reading.failed && !reading.events.empty() && reading.cursor->next() <= reading.published;
    timer_.start(more ? between_parts : interval);
    if (reading.failed) {
        for (auto& [number, state] : followers_) state.cursor.reset(); // which use that disk
        disk_.reset();
        tail_.reset();
        return;
    }
    disk_ = std::move(reading.disk);
    tail_ = std::move(reading.cursor);
    const auto begun = std::exchange(tail_next_, tail_->next());
    std::vector<std::uint64_t> live;
    for (auto& [number, state] : followers_) {
        if (!state.next) state.next = begun == 0 ? tail_next_ : begun;
        if (*state.next > tail_next_) state.next = tail_next_; // a number that no event has yet
        if (begun != 0 && *state.next == begun && !state.cursor) live.push_back(number);
    }
    for (const auto number : live)
        if (const auto found = followers_.find(number); found != followers_.end()) {
            found->second.next = tail_next_;
            if (!reading.events.empty())
                deliver(number, reading.events);
            else
                found->second.follower.idle();
        }
    catch_up();
}

// Those that are behind, one after the other.
void EventFeed::catch_up() {
    if (earlier_.busy() || tail_next_ == 0 || !disk_) return;
    for (auto& [number, state] : followers_) {
        if (!state.next || *state.next >= tail_next_ || !state.follower.has_room()) continue;
        if (!state.cursor)
            state.cursor = std::make_shared<spool::JournalCursor>(*disk_, journal_directory, *state.next);
        const auto reading = std::make_shared<Reading>();
        reading->disk = disk_;
        reading->cursor = state.cursor;
        earlier_.start(
            [reading, through = tail_next_ - 1] {
                reading->failed = !read_events(*reading->cursor, through, 1, reading->events);
            },
            [this, number, reading] {
                if (const auto found = followers_.find(number); found != followers_.end()) {
                    auto& behind = found->second;
                    const bool over = reading->events.empty(); // the rest of the numbers is missing
                    behind.next = over ? tail_next_ : reading->cursor->next();
                    if (reading->failed || *behind.next >= tail_next_) {
                        behind.next = std::max(*behind.next, tail_next_);
                        behind.cursor.reset();
                    }
                    if (!over) deliver(number, reading->events);
                }
                catch_up();
            });
        return;
    }
}

void EventFeed::deliver(std::uint64_t number, const std::vector<FeedEvent>& events) {
    if (const auto found = followers_.find(number); found != followers_.end()) {
        const auto take = found->second.follower.take; // a copy: it may unfollow
        take(events);
    }
}

} // namespace http

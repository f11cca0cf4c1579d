// The step the engine takes for one event: when it is, on both clocks, and what is to be done, in order. Knows time
// only as begin() says; must not know any clock, disk or socket.
#pragma once
#include "daemons/decide/queue/ladder.h"
#include "daemons/decide/queue/model/model.h"
#include <deque>
#include <string>
#include <string_view>
#include <utility>

namespace decide::queue {

// Upwards.
std::uint32_t whole_seconds(smtp::Duration d);
// Since 1970.
std::uint32_t to_seconds(smtp::WallTime t);

class Step {
public:
    // settings must outlive it; of them the jitter of after().
    Step(const Settings& settings, std::uint64_t seed, smtp::Now now);

    // The next event; `out` must live until the one after it. By how much the wall clock was set meanwhile; 0: it was
    // not.
    smtp::Duration begin(smtp::Now now, Actions& out);

    // ---- time ----
    smtp::Monotonic now() const { return now_.monotonic; }
    smtp::WallTime wall() const { return now_.wall; }
    std::uint32_t wall_seconds() const; // since 1970
    smtp::Monotonic start() const { return start_; }
    Seconds seconds(smtp::Monotonic t) const;
    smtp::WallTime wall_of(smtp::Monotonic t) const { return smtp::WallTime(t.time_since_epoch() + offset_); }
    // To be shown: the difference between the clocks, read one after the other, is a little different each time, so
    // that a time that was cut would be a second earlier now and then.
    smtp::WallTime nearest_second(smtp::Monotonic t) const {
        return std::chrono::round<std::chrono::seconds>(wall_of(t));
    }
    smtp::Monotonic monotonic_of(smtp::WallTime t) const { return smtp::Monotonic(t.time_since_epoch() - offset_); }
    // From now, lengthened by jitter.
    smtp::Monotonic after(smtp::Duration wait);
    Random& random() { return random_; }

    // ---- what is to be done ----
    template <class A> void emit(A&& action) { out_->list.emplace_back(std::forward<A>(action)); }
    Numbers numbers(const std::vector<Entry>& list);
    Numbers number(RecipientNumber number);
    std::uint32_t reason(const Reason& reason); // its place in Actions::reasons
    // A text that actions of this event may point to, though what it names is forgotten.
    std::string_view keep(std::string_view text) { return kept_.emplace_back(text); }

private:
    const Settings& settings_;
    Random random_;
    smtp::Monotonic start_;
    smtp::Duration offset_; // wall = monotonic + offset
    smtp::Now now_;
    Actions* out_ = nullptr;
    std::deque<std::string> kept_;
};

} // namespace decide::queue

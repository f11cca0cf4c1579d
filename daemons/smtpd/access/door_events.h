// What happens to clients, reported to the queue-manager for the journal: events up to a rate, and of those
// that are left out how many. Never waits, keeps no event. Knows the conversation with the queue-manager; decides
// nothing.
#pragma once
#include "daemons/common/runtime/timer.h"
#include "daemons/common/submission/submission_queue.h"
#include <array>
#include <cstdint>
#include <utility>

namespace smtpd {

class DoorEvents {
public:
    using Event = proto::submission::DoorEvent;
    using Kind = Event::Kind;

    // Both outlive it.
    DoorEvents(common::Loop& loop, common::SubmissionQueue& queue_manager)
        : queue_manager_(queue_manager), timer_(loop, [this] { tell_of_the_rest(); }) {}
    DoorEvents(const DoorEvents&) = delete;

    void set_rate(std::uint32_t per_second) { per_second_ = per_second; }
    // `fill(Event&)` is called if it is reported.
    template <class Fill> void record(Kind kind, smtp::Monotonic now, Fill&& fill) {
        if (!admitted(kind, now)) return;
        Event event;
        event.kind = kind;
        fill(event);
        tell(std::move(event));
    }

private:
    static constexpr smtp::Duration quiet = std::chrono::seconds(5); // until what was left out is reported by itself
    std::uint64_t& left_out(Kind kind) { return left_out_[static_cast<std::size_t>(kind)]; }
    bool admitted(Kind kind, smtp::Monotonic now);
    void tell(Event event);
    void tell_of_the_rest();
    void tell_later();

    common::SubmissionQueue& queue_manager_;
    common::Timer timer_;
    std::uint32_t per_second_ = 0, this_second_ = 0;
    smtp::Monotonic second_{};                                                        // when its counting began
    std::array<std::uint64_t, static_cast<std::size_t>(Kind::last_) + 1> left_out_{}; // and not told yet
    std::uint64_t lost_ = 0;
};

} // namespace smtpd

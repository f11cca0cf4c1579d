// Messages that an operator removes while they are being delivered: their deliveries are ended first, as far as an
// agent still can; only then is anything changed. Knows neither the engine nor the agents: called at the end of each
// turn, it checks whether the delivery has ended.
#pragma once
#include "daemons/common/runtime/timer.h"
#include "libspool/format/queue_id.h"
#include <functional>
#include <map>
#include <vector>

namespace queue_manager {

class DeliveryStops {
public:
    // True: nothing of the message is in flight any longer; false: it could not be stopped.
    using Then = std::function<void(bool stopped)>;
    struct Dependencies {
        std::function<bool(spool::QueueId)> in_flight;
        // Nothing further of it is begun, and what is in flight is to end. Undone by go_on().
        std::function<void(spool::QueueId)> stop;
        std::function<void(spool::QueueId)> go_on;
    };
    // Maximum wait for an agent's answer.
    static constexpr smtp::Duration patience = std::chrono::seconds(5);

    DeliveryStops(common::Loop& loop, Dependencies hands)
        : deps_(std::move(hands)), patience_(loop, [this] { give_up(); }) {}

    // held: no delivery of it was to be begun before, either.
    enum class Before : std::uint8_t { free, held };
    void stop(spool::QueueId id, Before before, Then then);
    // All of its content has been sent: the outcome depends on the peer.
    void too_late(spool::QueueId id) { end(id, false); }
    // Checks whether deliveries have ended.
    void look();

private:
    struct Stop {
        Before before;
        std::vector<Then> then;
    };
    void end(spool::QueueId id, bool stopped);
    void give_up();

    Dependencies deps_;
    std::map<spool::QueueId, Stop> stops_;
    common::Timer patience_;
};

} // namespace queue_manager

// Drives the queue engine (daemons/decide/queue): tells it one event at a time, and has the actions that it
// decides on executed, in their order, before the next event. All judgement is in the engine, all I/O in
// those who execute; this knows neither, only the order.
#pragma once
#include "daemons/common/runtime/loop.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/decide/queue/engine.h"
#include "daemons/queue-manager/engine_driver/event_context.h"
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>

namespace queue_manager {

class EngineDriver {
public:
    using Task = std::move_only_function<void()>;
    struct Callbacks {
        // Executes one of `all`. The engine's views live until its next call: nothing in here may tell it
        // anything. What must goes to later().
        std::function<void(const decide::queue::Action& action, const decide::queue::Actions& all,
                           const EventContext& context, smtp::Now now)>
            execute;
        std::function<void()> executed; // all actions of an event; what goes to later() comes after this
    };
    EngineDriver(common::Loop& loop, const decide::queue::Settings& settings, std::uint64_t seed, Callbacks callbacks);
    EngineDriver(const EngineDriver&) = delete;

    // To ask it; events go through tell().
    const decide::queue::Engine& engine() const { return engine_; }

    // driver.tell([&](auto& engine, smtp::Now now, auto& out) { engine.connected(connection, now, out); });
    template <class Call> void tell(Call&& call, const EventContext& context = {}) {
        const auto now = common::Loop::now();
        call(engine_, now, actions_);
        perform(context, now);
    }
    // While actions are executed: to be called when all of them are. Else at once.
    void later(Task task);
    // At the end of a turn: the engine's timer.
    void arm_timer();

private:
    void perform(const EventContext& context, smtp::Now now);

    Callbacks callbacks_;
    decide::queue::Engine engine_;
    decide::queue::Actions actions_;
    std::deque<Task> tasks_;
    bool performing_ = false;
    common::Timer timer_;
};

} // namespace queue_manager

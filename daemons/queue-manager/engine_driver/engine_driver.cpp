#include "daemons/queue-manager/engine_driver/engine_driver.h"
#include <algorithm>
#include <cassert>

namespace queue_manager {

EngineDriver::EngineDriver(common::Loop& loop, const decide::queue::Settings& settings, std::uint64_t seed,
                           Callbacks callbacks)
    : callbacks_(std::move(callbacks)), engine_(settings, seed, common::Loop::now()),
      timer_(loop, [this] { tell([](auto& engine, smtp::Now now, auto& out) { engine.timer(now, out); }); }) {}

void EngineDriver::perform(const EventContext& context, smtp::Now now) {
    assert(!performing_);
    performing_ = true;
    for (const auto& action : actions_.list) callbacks_.execute(action, actions_, context, now);
    actions_.clear();
    performing_ = false;
    callbacks_.executed();
    while (!tasks_.empty() && !performing_) {
        auto task = std::move(tasks_.front());
        tasks_.pop_front();
        task();
    }
}

void EngineDriver::later(Task task) {
    tasks_.push_back(std::move(task));
    if (!performing_) perform({}, common::Loop::now());
}

void EngineDriver::arm_timer() {
    if (const auto due = engine_.next_timer())
        timer_.start(std::max(smtp::Duration::zero(), *due - common::Loop::now().monotonic));
    else
        timer_.stop();
}

} // namespace queue_manager

#include "daemons/decide/queue/engine/parts.h"
#include <algorithm>
#include <initializer_list>

namespace decide::queue {

void Engine::Parts::begin(smtp::Now now, Actions& out) {
    if (const auto by = step.begin(now, out); by != smtp::Duration{}) sweeper.clock_stepped(by);
}

void Engine::Parts::end() {
    categorizer.pump();
    resets.run();
    for (bool again = true; again;) {
        routes.pump();
        isolation.pump();
        for (Slot link = links.next_scheduled(); link != none; link = links.next_scheduled()) dispatcher.pump(link);
        if (connections.freed()) dispatcher.serve_waiting_links();
        routes.pump(); // handing out may have found a route to be out of date
        again = links.any_scheduled();
    }
    reporter.pump();
}

void Engine::Parts::run_timers() {
    placement.run_due();
    housekeeping.run_due();
    connections.close_idle();
    ages.settle();
    // Each once: a message overdue is entered again, but never for now.
    for (Slot message = ages.due(); message != none; message = ages.due()) sweeper.sweep(message);
}

std::optional<smtp::Monotonic> Engine::Parts::next_timer() const {
    std::optional<smtp::Monotonic> next;
    for (const auto& each : {placement.next(), housekeeping.next(), connections.next(), ages.next(), reporter.next(),
                             resets.next(), isolation.next()})
        if (each) next = next ? std::min(*next, *each) : *each;
    return next;
}

inspection::View Engine::Parts::view() const {
    return {settings, step,      gates,     services, terms,     pools,       messages,    deliveries, links,    queues,
            flows,    scheduler, snapshots, ages,     addresses, connections, categorizer, reporter,   placement};
}

} // namespace decide::queue

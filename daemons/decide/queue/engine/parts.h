// The parts of the engine in dependency order: each uses some of those before it and none of those after it. Requests
// to a later part are queued instead (links that are scheduled, queues to be looked up, deliveries for the categorizer,
// reports to be made) and done as the event ends.
#pragma once
#include "daemons/decide/queue/delivery/addresses.h"
#include "daemons/decide/queue/delivery/categorizer_queue.h"
#include "daemons/decide/queue/delivery/connections.h"
#include "daemons/decide/queue/delivery/dispatcher.h"
#include "daemons/decide/queue/delivery/isolation.h"
#include "daemons/decide/queue/delivery/placement.h"
#include "daemons/decide/queue/delivery/reporter.h"
#include "daemons/decide/queue/delivery/suspension_log.h"
#include "daemons/decide/queue/engine.h"
#include "daemons/decide/queue/engine/health_tracker.h"
#include "daemons/decide/queue/engine/housekeeping.h"
#include "daemons/decide/queue/engine/intake.h"
#include "daemons/decide/queue/engine/operator_commands.h"
#include "daemons/decide/queue/engine/outcomes.h"
#include "daemons/decide/queue/engine/results.h"
#include "daemons/decide/queue/engine/route_resets.h"
#include "daemons/decide/queue/engine/routes.h"
#include "daemons/decide/queue/engine/suppression.h"
#include "daemons/decide/queue/engine/sweeper.h"
#include "daemons/decide/queue/inspection/view.h"
#include "daemons/decide/queue/model/gates.h"
#include "daemons/decide/queue/model/lanes.h"
#include "daemons/decide/queue/model/names.h"
#include "daemons/decide/queue/model/step.h"
#include "daemons/decide/queue/model/terms.h"
#include "daemons/decide/queue/tables/age_watch.h"
#include "daemons/decide/queue/tables/deliveries.h"
#include "daemons/decide/queue/tables/fleet_rates.h"
#include "daemons/decide/queue/tables/links.h"
#include "daemons/decide/queue/tables/messages.h"
#include "daemons/decide/queue/tables/queues.h"
#include "daemons/decide/queue/tables/route_lookups.h"
#include "daemons/decide/queue/tables/scheduler.h"
#include "daemons/decide/queue/tables/snapshots.h"
#include "daemons/decide/queue/tables/waiting_times.h"
#include <optional>

namespace decide::queue {

struct Engine::Parts {
    Parts(const Settings& settings, std::uint64_t seed, smtp::Now now)
        : settings(settings), step(this->settings, seed, now) {}

    // Every event begins with begin() and ends with end(): the clocks are read first, and queued requests are done
    // last.
    void begin(smtp::Now now, Actions& out);
    void end();
    void run_timers();
    std::optional<smtp::Monotonic> next_timer() const;
    inspection::View view() const;

    Settings settings;
    Step step;
    Gates gates;
    Services services;
    Terms terms{settings, step};
    NumberedNames pools; // of source addresses, numbered as first seen
    Snapshots snapshots{step, terms};

    Messages messages;
    Deliveries deliveries{step, messages};
    Flows flows{deliveries};
    AgeWatch ages{settings, step, terms, messages};
    FleetRates fleet{settings, step};
    Links links{settings, step, gates, services, terms, pools, snapshots, fleet};
    Queues queues{step, gates, pools, snapshots, links};
    RouteLookups lookups{step, services, pools, queues};
    Scheduler scheduler{settings, step, links, queues, lookups};
    WaitingTimes waits{step, gates, pools, links, queues};

    Addresses addresses{settings, step, links};
    Connections connections{settings, step, messages, deliveries, links, queues, scheduler, addresses};
    CategorizerQueue categorizer{settings, step, services, messages, deliveries};
    Reporter reporter{settings, step, services, messages, deliveries, ages, waits};
    SuspensionLog suspensions{step, gates, messages, deliveries, links, queues, flows};
    Placement placement{settings, step,      terms, messages,    deliveries,  queues,   flows,
                        lookups,  scheduler, ages,  connections, categorizer, reporter, suspensions};
    Dispatcher dispatcher{settings, step,   gates, pools,     messages,   deliveries,
                          links,    queues, flows, scheduler, connections};
    Isolation isolation{settings, step,      gates,       deliveries, links,
                        queues,   scheduler, connections, placement,  dispatcher};

    RouteResets resets{settings, step, services, links, queues, lookups};
    Routes routes{settings, step,    terms,     pools,       links,     queues,
                  flows,    lookups, scheduler, suspensions, placement, resets};
    HealthTracker health{settings,  step,        terms,       messages,  links, queues,
                         scheduler, connections, suspensions, placement, resets};
    Housekeeping housekeeping{settings,  step,      links,     queues,     lookups,
                              scheduler, addresses, placement, dispatcher, health};
    Outcomes outcomes{settings, step,      terms,    messages,    deliveries, links,
                      queues,   scheduler, reporter, suspensions, placement,  health};
    Results results{settings, step,      terms,       messages, deliveries, links,  queues,  scheduler,
                    ages,     addresses, connections, reporter, placement,  health, outcomes};
    Intake intake{settings, step, terms, pools, messages, deliveries, queues, ages, categorizer, reporter, placement};
    Suppression suppression{settings, step, deliveries, queues, ages, reporter, placement};
    Sweeper sweeper{step, gates, messages, deliveries, links, queues, ages, connections, reporter, placement};
    OperatorCommands operators{settings,  step, gates,     terms,       pools,    messages,  deliveries, links,  queues,
                               scheduler, ages, addresses, connections, reporter, placement, health,     sweeper};
};

} // namespace decide::queue

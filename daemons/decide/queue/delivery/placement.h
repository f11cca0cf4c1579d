// A delivery's life between events: where it waits (for its own time, the categorizer, the suppression list, its turn
// in its queue, an agent to itself), the effect of a failed try, and the end of its message. Under a named retry
// policy, the backoff of a link, queue or route may delay a try, but the try still counts: while a host is down, the
// messages that wait for it use up their tries on schedule. Waits of our own making (pause, rate, window, schedule)
// delay a try and count nothing.
#pragma once
#include "daemons/decide/queue/containers/heap.h"
#include "daemons/decide/queue/delivery/categorizer_queue.h"
#include "daemons/decide/queue/delivery/connections.h"
#include "daemons/decide/queue/delivery/reporter.h"
#include "daemons/decide/queue/delivery/suspension_log.h"
#include "daemons/decide/queue/model/lanes.h"
#include "daemons/decide/queue/model/step.h"
#include "daemons/decide/queue/model/terms.h"
#include "daemons/decide/queue/tables/age_watch.h"
#include "daemons/decide/queue/tables/deliveries.h"
#include "daemons/decide/queue/tables/messages.h"
#include "daemons/decide/queue/tables/queues.h"
#include "daemons/decide/queue/tables/route_lookups.h"
#include "daemons/decide/queue/tables/scheduler.h"
#include <array>
#include <optional>
#include <vector>

namespace decide::queue {

class Placement {
public:
    using DeliveryList = List<Delivery, &Delivery::prev, &Delivery::next>;
    enum class Try : std::uint8_t { made, delayed };

    Placement(const Settings& settings, Step& step, Terms& terms, Messages& messages, Deliveries& deliveries,
              Queues& queues, Flows& flows, RouteLookups& lookups, Scheduler& scheduler, AgeWatch& ages,
              Connections& connections, CategorizerQueue& categorizer, Reporter& reporter, SuspensionLog& suspensions);

    // ---- where it waits ----
    void place(Slot delivery, End end);          // where it belongs: held, waiting or ready
    void take_out(Slot delivery);                // from wherever it waits
    void due_now(Slot delivery);                 // its own time has come
    bool join(Slot delivery);                    // to others of its message due within the minute
    void check_suppressions(Slot delivery);      // it is nowhere else now
    void return_untried(Slot delivery, End end); // from its connection
    // The message's gate opened or closed: deliveries not in flight move to where they belong now.
    void held_changed(Slot message);

    // ---- tries that failed ----
    // Counts a try of its recipients; it is nowhere else now, and this may end it.
    void count_try(Slot delivery, const Reason& reason, Try how);
    void count_delayed_tries(Slot queue); // of all that are due there
    void count_delayed_tries_of_link(Slot link);
    void apply_route_policy(Slot queue); // its route has one: due deliveries take it
    // A delivery like the one tried, for these of its recipients: in `spare` if that is still free.
    Slot delivery_like(const Delivery& like, Slot& spare, const std::vector<Entry>& list);
    // Failed recipients wait until `due`: in `spare` if that is still free, else in a delivery of their own.
    void defer(const Delivery& like, Slot& spare, const std::vector<Entry>& list, smtp::Monotonic due,
               const Reason& reason, Try how = Try::made);
    // Its domain cannot receive mail: everything that is due fails; deliveries on their own retry schedules fail when
    // due.
    void fail_ready(Slot queue, const Reason& reason);

    // ---- ends ----
    void remove(Slot delivery); // that waits nowhere
    void finish(Slot message);  // removes it if nothing is left, else plans its reports
    void forget(Slot message);

    // ---- time ----
    void run_due();
    std::optional<smtp::Monotonic> next() const;
    // The wall clock was set: schedules follow it. (Retry schedules follow the monotonic clock.)
    void reschedule();

    // ---- what waits ----
    const std::vector<Slot>& waiting() const { return waiting_.slots(); } // for its own time, in no order
    bool is_waiting(Slot delivery) const { return waiting_.contains(delivery); }
    DeliveryList& isolated(AgentKind kind) {
        return isolated_[static_cast<std::size_t>(kind)];
    } // suspects that are due
    const DeliveryList& isolated(AgentKind kind) const { return isolated_[static_cast<std::size_t>(kind)]; }
    std::uint64_t checking() const { return checking_; }
    std::uint64_t scheduled() const { return scheduled_; }
    std::uint64_t uncategorized() const { return uncategorized_; }
    std::size_t bytes() const { return waiting_.bytes(); }

private:
    void count_waiting(const Delivery& delivery, int by); // 1: it enters the heap; -1: it leaves
    AgentKind kind_of(Slot delivery) const;

    const Settings& settings_;
    Step& step_;
    Terms& terms_;
    Messages& messages_;
    Deliveries& deliveries_;
    Queues& queues_;
    Flows& flows_;
    RouteLookups& lookups_;
    Scheduler& scheduler_;
    AgeWatch& ages_;
    Connections& connections_;
    CategorizerQueue& categorizer_;
    Reporter& reporter_;
    SuspensionLog& suspensions_;

    DueHeap<Delivery, &Delivery::due, &Delivery::heap> waiting_;
    std::array<DeliveryList, 2> isolated_; // by AgentKind
    std::uint64_t checking_ = 0;           // waiting for the suppression list's answer
    std::uint64_t scheduled_ = 0;          // in the heap, for a wall-clock time
    std::uint64_t uncategorized_ = 0;      // … and to be categorized again
};

} // namespace decide::queue

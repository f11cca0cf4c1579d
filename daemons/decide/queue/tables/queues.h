// The queues, found by name: one for each destination and pool of source addresses.
#pragma once
#include "daemons/decide/queue/containers/heap.h"
#include "daemons/decide/queue/model/gates.h"
#include "daemons/decide/queue/model/names.h"
#include "daemons/decide/queue/model/step.h"
#include "daemons/decide/queue/tables/links.h"
#include <string>
#include <string_view>
#include <vector>

namespace decide::queue {

class Queues : public Slab<Queue> {
public:
    Queues(Step& step, const Gates& gates, NumberedNames& pools, Snapshots& snapshots, Links& links)
        : step_(step), gates_(gates), pools_(pools), snapshots_(snapshots), links_(links) {}
    Queues(const Queues&) = delete;
    Queues& operator=(const Queues&) = delete;

    Slot find(std::string_view name) const; // none: not known
    // Is there mail for it, or is something remembered of it? Everything: always.
    bool knows(Scope scope, std::string_view name) const;
    // All queues of a domain, one per pool.
    std::vector<Slot> of_domain(std::string_view domain) const;
    Slot queue_for(std::string_view destination, Fate fate, std::uint16_t pool); // made where there is none
    void forget(Slot queue); // it has no delivery, and is in no ring
    std::size_t named() const { return by_name_.size(); }

    void set_pool(Queue& queue, std::uint16_t pool);
    void attach(Slot queue, Slot link);
    DueHeap<Queue, &Queue::timer, &Queue::heap> timers{*this};

private:
    // Slots are taken and given back only by the functions above.
    using Slab::allocate;
    using Slab::release;

    static std::string queue_name(std::string_view domain, std::string_view pool);

    Step& step_;
    const Gates& gates_;
    NumberedNames& pools_;
    Snapshots& snapshots_;
    Links& links_;
    SlotsByName by_name_;
};

} // namespace decide::queue

// What waits for the categorizer, and what it has: as much at a time as is good for it and for this system.
#pragma once
#include "daemons/decide/queue/model/gates.h"
#include "daemons/decide/queue/model/step.h"
#include "daemons/decide/queue/tables/deliveries.h"
#include "daemons/decide/queue/tables/messages.h"

namespace decide::queue {

class CategorizerQueue {
public:
    CategorizerQueue(const Settings& settings, Step& step, const Services& services, const Messages& messages,
                     Deliveries& deliveries)
        : settings_(settings), step_(step), services_(services), messages_(messages), deliveries_(deliveries) {}

    void await(Slot delivery, End end);
    void remove(Slot delivery); // that waits for it or that it has
    void pump();                // asks as far as it may be asked now
    void answered();            // for a delivery that has been removed
    // It went with questions open, which are put again. A delivery that it had alone, twice in a row, is in no line
    // then, and must wait its time: that one; none.
    Slot gone();

    std::uint32_t pending() const { return pending_.count + pending_large_.count; }
    std::uint32_t asked() const { return asked_.count; }

private:
    void ask(Slot delivery);

    static constexpr std::uint32_t small_message = 50;          // recipients; those with more wait by themselves
    static constexpr std::uint32_t recipients_at_once = 20'000; // of those; one alone may have more

    const Settings& settings_;
    Step& step_;
    const Services& services_;
    const Messages& messages_;
    Deliveries& deliveries_;

    using DeliveryList = List<Delivery, &Delivery::prev, &Delivery::next>;
    DeliveryList pending_, pending_large_, asked_;
    std::uint32_t asked_large_ = 0, asked_recipients_ = 0; // of asked_: the large ones, and their recipients
    std::uint32_t window_ = ~0u;                           // asked at a time, at most
    std::uint64_t last_alone_ = 0;                         // the message it had alone when it went last; 0: several
};

} // namespace decide::queue

// The deliveries of each message and the recipients they hold. Knows nothing of where they wait.
#pragma once
#include "daemons/decide/queue/model/step.h"
#include "daemons/decide/queue/tables/messages.h"
#include <algorithm>
#include <span>
#include <vector>

namespace decide::queue {

class Deliveries : public Slab<Delivery> {
public:
    Deliveries(Step& step, Messages& messages) : step_(step), messages_(messages) {}

    Slot add(Slot message);
    // It waits nowhere. The generation stays with the slot, so that a stale id is detected.
    void remove(Slot delivery);

    DeliveryId id_of(Slot delivery) const { return (std::uint64_t{(*this)[delivery].generation} << 32) | delivery; }
    // In that state; none: it is not, or no longer.
    Slot find(DeliveryId id, DeliveryState state) const;
    // The message's delivery that the categorizer has; none.
    Slot categorizing(Slot message) const;

    std::vector<Entry> entries(Slot delivery) const;
    void set_entries(Slot delivery, const std::vector<Entry>& list);
    Numbers numbers_of(Slot delivery); // for an action
    Slab<RecipientList> lists;         // of those with several recipients

    // The counters of a lone recipient fit into its delivery; those of several are kept separately until it is
    // categorized.
    void apply_restored(Slot message, Slot delivery, std::span<const RestoredRecipient> restored,
                        smtp::WallTime latest);
    RestoredRecipient restored_state(const Message& message, const Delivery& delivery, RecipientNumber number) const;
    // For a delivery that is not categorized: the recipients that the categorizer deferred; empty if it deferred none.
    const std::vector<CategorizerDeferral>& undecided(const Delivery& delivery) const;

private:
    // Slots are taken and given back only by the functions above.
    using Slab::allocate;
    using Slab::release;

    Step& step_;
    Messages& messages_;
};

// As stored in the counters of deliveries.
inline std::uint8_t small(std::uint32_t n) { return static_cast<std::uint8_t>(std::min<std::uint32_t>(n, 255)); }

} // namespace decide::queue

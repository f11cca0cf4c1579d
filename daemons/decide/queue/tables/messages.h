// The messages of the queue, found by id, and what only some of them have. Knows nothing of their deliveries.
#pragma once
#include "daemons/decide/queue/containers/index.h"
#include "daemons/decide/queue/model/model.h"

namespace decide::queue {

class Messages : public Slab<Message> {
public:
    Messages() = default;
    Messages(const Messages&) = delete;
    Messages& operator=(const Messages&) = delete;

    Slot find(spool::QueueId id) const { return by_id_.find(id.value); }
    // The id must not be known yet.
    Slot add(spool::QueueId id, std::int64_t arrival);
    // It must have no delivery left.
    void remove(Slot message);

    MessageExtras& extras_of(Slot message); // made where there are none
    Slab<MessageExtras> extras;

    void set_held(Message& message, bool held);
    std::uint64_t held() const { return held_; }

    // The one that came first; none: there is none. After it is removed, the next one is found by scanning all.
    Slot oldest() const;
    std::size_t bytes() const { return Slab::bytes() + extras.bytes() + by_id_.bytes(); }

private:
    // Slots are taken and given back only by the functions above.
    using Slab::allocate;
    using Slab::release;

    struct IdOf {
        const Slab<Message>* messages;
        std::uint64_t operator()(Slot slot) const { return (*messages)[slot].id; }
    };

    Index<IdOf> by_id_{IdOf{this}};
    std::uint64_t held_ = 0;
    mutable std::uint64_t oldest_id_ = 0; // message with the earliest arrival; 0: to be found
    mutable Slot oldest_ = none;
};

} // namespace decide::queue

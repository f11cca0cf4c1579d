// What a delivery waits for, in a few words, beside the failure that is the reason.
#pragma once
#include "daemons/decide/queue/inspection/view.h"
#include "daemons/decide/queue/listing.h"
#include <optional>
#include <string>

namespace decide::queue::inspection {

struct QueueBackoffs { // of a link's queues: how many rest after a failure of their own, and the next that is tried
    const Queue* queue = nullptr;
    std::size_t queues = 0;
    std::size_t due = 0, waiting = 0; // deliveries; those of paused queues do not wait by themselves
    const Queue* stopped = nullptr;   // one with mail that is paused
    smtp::Monotonic next{};           // of what waits by itself; {}: not known
    bool stops() const { return stopped && (due > 0 || waiting == 0); }
};

// Has the delivery a recipient in `range`?
bool is_for(const View& view, Slot delivery, const RecipientRange& range);
Waiting waiting(const View& view, const Delivery& delivery);
std::string waiting_for(const View& view, const Delivery& delivery); // in plain words; "" where nothing is to be added
smtp::WallTime failing_since(const View& view, const Delivery& delivery); // what reason_of() says
std::optional<PausedObject> pause_of(const View& view, const Queue& queue);
std::string idle_reason(const View& view, const Link& link, const QueueBackoffs& resting);
std::string idle_reason(const View& view, const Queue& queue);
// Of a rate that all nodes share, which is reached.
std::string shared_rate_text(const View& view, const Link& link, SharedRate rate);
std::string route_wait_text(const View& view, const Queue& queue);
std::string report_wait_text(const View& view, const MessageExtras& extra);

} // namespace decide::queue::inspection

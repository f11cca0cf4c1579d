// The delivery lines of recipients that no agent had: those that are discarded, those whose link is backing off, those
// that the categorizer or the router cannot resolve. They are gathered while the engine's actions are executed and
// written afterwards, because the addresses are in the message's file. The journal gets those that are final. Knows
// log, metrics and events; must not know the engine.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/common/logging/metrics/metrics.h"
#include "daemons/queue-manager/conversion/categorization.h"
#include "daemons/queue-manager/engine_driver/event_context.h"
#include "daemons/queue-manager/events/message_events.h"
#include "daemons/queue-manager/spool/message_loader.h"
#include "libspool/format/property.h"
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace queue_manager {

class UndeliveredLog {
public:
    UndeliveredLog(common::Log& log, common::Metrics& metrics, MessageLoader& loader, MessageEvents& events)
        : log_(log), metrics_(metrics), loader_(loader), events_(events) {}
    UndeliveredLog(const UndeliveredLog&) = delete;

    struct Lines {                          // relay=none
        std::vector<std::uint32_t> numbers; // empty: all of the envelope
        smtp::Outcome outcome = smtp::Outcome::deferred;
        decide::queue::Reason reason;
    };
    void add(spool::QueueId id, Lines lines) { gathered_[id].push_back(std::move(lines)); }
    // Of these, those that no agent will get: failed, deferred; with `sendmail -bv` also local ones.
    void add(spool::QueueId id, const std::vector<CategorizedRecipient>& recipients);
    void write();                  // all that was gathered
    void write(spool::QueueId id); // of that message

    // Of these of the categorizer's answer, the discarded ones, at once: the file may be removed in the same turn.
    void write_discarded(spool::QueueId id, const EventContext::Categorization& answer,
                         std::span<const std::uint32_t> numbers, smtp::WallTime now);

private:
    void write(spool::QueueId id, const spool::MessageState& state, Lines lines);

    common::Log& log_;
    common::Metrics& metrics_;
    MessageLoader& loader_;
    MessageEvents& events_;
    std::map<spool::QueueId, std::vector<Lines>> gathered_;
};

// Those of `numbers` as records of a message that continues with other recipients: their reason is shown, too.
std::vector<spool::Property> discarded_records(const std::vector<DiscardedRecipient>& discarded,
                                               std::span<const std::uint32_t> numbers, smtp::WallTime now);

} // namespace queue_manager

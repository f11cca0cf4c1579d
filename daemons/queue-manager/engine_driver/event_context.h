// The data of an event that the engine does not get: the records and log lines of the resulting actions need it. It is
// passed from the code that reports the event to the code that executes the actions. References live as long as the
// call.
#pragma once
#include "daemons/queue-manager/conversion/categorization.h"
#include "daemons/queue-manager/conversion/records.h"
#include "libspool/format/property.h"
#include "libspool/message/message_state.h"
#include <cstdint>
#include <memory>

namespace queue_manager {

struct EventContext {
    struct Accepted { // a message was taken over
        spool::QueueId id;
        const spool::MessageState& state;
        std::uint64_t size = 0;
        bool submitted = false; // only now, not found in the spool
    };
    struct Categorization { // the categorizer answered about a message, or its file did
        const CategorizationInput& subject;
        const Judgement& judgement;
    };
    const Accepted* accepted = nullptr;
    const Categorization* categorization = nullptr;
    const Result* result = nullptr;             // an agent reported a delivery
    std::shared_ptr<void> acknowledgement = {}; // of that result: sent at its end, when everything is written
    spool::Reported reported = spool::Reported::submitted; // what became of a report
};

} // namespace queue_manager

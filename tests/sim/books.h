// What a spool would remember of each message, and beside it what truly became of each recipient.
#pragma once
#include "daemons/decide/queue/events.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

enum class Written : std::uint8_t { open, delivered, failed, expired, discarded, replaced };

struct Recipient {
    std::string domain;
    bool local = false, discard = false, unknown = false; // as the categorizer will say
    bool rejected = false;                                // its host answers 550
    bool suppressed = false;
    std::uint32_t mailbox = 0; // in its domain's store
    bool found_full = false;   // that, once
    std::string_view user;     // local: whose deliveries have a bound of their own; "": nobody's
    // the spool's
    Written written = Written::open;
    std::uint32_t failures = 0, message_failures = 0, deaths = 0;
    bool problem = false, suspect = false;
    std::int64_t next_attempt = 0; // µs of the wall clock
    // the truth
    std::uint32_t delivered = 0;
    bool reported = false;
    bool noticed = false; // of its delay, by this queue-manager
    bool in_flight = false;
    std::int64_t not_before = 0; // monotonic µs, from the last deferral
    std::int64_t first_try = -1, last_try = -1;
    std::int64_t came_back = -1; // from an agent, tried or not
};

struct Message {
    std::uint64_t id = 0;
    std::int64_t arrival = 0, not_before = 0, expiry = 0; // wall µs
    std::int64_t accepted = 0;                            // monotonic µs
    bool null_sender = false;
    bool bad = false;                                     // its content is refused for ever (4xx)
    bool deadly = false;                                  // kills agents …
    std::uint32_t alone_deaths = 0;                       // … that died with one delivery of it, alone
    bool by_hand = false, ended = false, removed = false; // held, expired, removed by the operator
    std::int64_t lifetime = 0;                            // µs, that the operator set; 0: the setting
    std::int64_t waited_until = -1;                       // monotonic µs: it was held, or asked about again
    bool free_in_a_second = false;                        // as the clock jumped: it may be free already
    bool held = false, noticed_before = false, noticed = false, notice_asked = false, moved = false, gone = false;
    std::int64_t gone_at = -1; // monotonic µs
    std::int64_t expired = -1; // when the engine gave up some recipient; the report may come later
    int lane = 1;
    std::string submitter, pool;                        // pool: of source addresses, that it names
    std::string policy;                                 // that it names
    std::optional<decide::queue::RetryPolicy> by_name;  // its values when it came
    std::optional<decide::queue::RetryPolicy> recorded; // with the message
    std::uint32_t in_envelope = 1;
    std::vector<Recipient> recipients; // those of the envelope, then those that came by expansion
};

} // namespace sim

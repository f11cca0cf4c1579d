// Writer (smtpd, pickup, bounce) → queue-manager: a message is durable under incoming/<slot>/; take it over.
// The writer repeats Submitted on every new connection until Taken arrives; taking over twice is harmless.
#pragma once
#include "libspool/queue_id.h"
#include <string>
#include <string_view>
#include <variant>

namespace proto::submission {

inline constexpr std::string_view conversation = "submission";

struct Submitted {
    spool::QueueId queue_id;
    std::uint64_t size = 0; // bytes of content
    std::string envelope;   // a hint that saves opening the file: spool::encode(Envelope); may be empty
    bool repeated = false;  // said before, on a connection that was lost: it may be finished already
    static void fields(auto& m, auto& f) {
        f("queue_id", m.queue_id);
        f("size", m.size);
        f("envelope", m.envelope);
        f("repeated", m.repeated);
    }
};

struct Taken { // queue-manager → writer
    spool::QueueId queue_id;
    static void fields(auto& m, auto& f) { f("queue_id", m.queue_id); }
};

using Message = std::variant<Submitted, Taken>;

} // namespace proto::submission

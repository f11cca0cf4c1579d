// What every event of a message says of it, so that it can be found by it. Taken from the envelope by the process that
// has the file open, and passed to the queue-manager, which keeps none of it. A value.
#pragma once
#include "libspool/format/envelope.h"
#include "libspool/journal/json_object.h"
#include <string>

namespace spool::journal {

struct MessageFacts {
    bool known = false; // false: the message's file could not be read
    std::string sender; // "" is the null one
    std::string message_id, submitter;
    std::string meta;       // Envelope::meta as members of an object, encoded; "" none
    std::string headers;    // Envelope::headers likewise
    std::string lane, pool; // as it was accepted
    static void fields(auto& m, auto& f) {
        f("known", m.known);
        f("sender", m.sender);
        f("message_id", m.message_id);
        f("submitter", m.submitter);
        f("meta", m.meta);
        f("headers", m.headers);
        f("lane", m.lane);
        f("pool", m.pool);
    }
    bool operator==(const MessageFacts&) const = default;
};

MessageFacts facts_of(const Envelope& envelope);

// As members of an event.
void append(JsonObject& event, const MessageFacts& facts);
// The same, straight from the envelope.
void append_facts(JsonObject& event, const Envelope& envelope);
// Of message.accepted: who brought the message, and what was asked for. `size`: of the content.
void append_acceptance(JsonObject& event, const Envelope& envelope, std::uint64_t size);

// Bounds of what strangers choose.
inline constexpr std::size_t longest_text = 1024, most_recipients = 100;

} // namespace spool::journal

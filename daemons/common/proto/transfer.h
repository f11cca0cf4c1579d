// queue-manager ↔ transfer: messages are moved to other nodes. The queue-manager decides which, and has recorded that
// nothing else happens to them; transfer reads the file, sends it to the node's API and reports the answer.
//
//   Send     from the queue-manager: one message, once on a connection; each is answered
//   Sent     from transfer
//
// What is not answered when the connection ends may or may not have been sent: the queue-manager asks again.
#pragma once
#include "libspool/format/queue_id.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace proto::transfer {

inline constexpr std::string_view conversation = "transfer";
inline constexpr std::size_t longest_text = 500; // of Sent

struct Send {
    spool::QueueId queue_id;
    std::string node;             // [node.<name>]
    std::uint32_t generation = 0; // of this transfer of that message
    static void fields(auto& m, auto& f) {
        f("queue_id", m.queue_id);
        f("node", m.node);
        f("generation", m.generation);
    }
};

enum class Result : std::uint8_t {
    taken,     // the node has it, durably
    refused,   // the node does not have it, and will not take it
    not_taken, // the node does not have it by this attempt; it may take it later
    unknown,   // it may have it: the answer was lost
    last_ = unknown,
};

struct Sent {
    spool::QueueId queue_id;
    std::uint32_t generation = 0;
    Result result = Result::unknown;
    std::uint64_t its_id = 0; // taken: there
    std::string text;         // otherwise: why
    static void fields(auto& m, auto& f) {
        f("queue_id", m.queue_id);
        f("generation", m.generation);
        f("result", m.result);
        f("its_id", m.its_id);
        f("text", m.text);
    }
};

using Message = std::variant<Send, Sent>;

} // namespace proto::transfer

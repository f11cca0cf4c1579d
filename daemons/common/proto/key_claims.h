// smtpd, pickup → fleet: idempotency keys that several nodes share. A writer claims a key in the store of its own node
// first, and asks here only if it is free there.
//
//   Ask      from a writer, several at once
//   Answer   from fleet, to each one, in any order
#pragma once
#include "libspool/format/queue_id.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace proto::key_claims {

inline constexpr std::string_view conversation = "key-claims";
inline constexpr std::size_t name_size = 32, digest_size = 32;

enum class Step : std::uint8_t {
    reserve, // the message is complete: no other node takes the key for a short while
    pledge,  // it is about to be made durable: no other node takes the key until it is known what became of it
    confirm, // it is durable
    release, // it is not, nor will it be
    last_ = release,
};

struct Ask {
    std::uint64_t number = 0; // of the question
    Step step = Step::reserve;
    std::string name;        // of the key: idempotency::name_in_store()
    std::string digest;      // of the message
    spool::QueueId id;       // of the message, or that it would get
    std::uint64_t lasts = 0; // ms: how long the key is kept
    bool of_program = false; // its submitter is a program's user
    static void fields(auto& m, auto& f) {
        f("number", m.number);
        f("step", m.step);
        f("name", m.name);
        f("digest", m.digest);
        f("id", m.id);
        f("lasts", m.lasts);
        f("of_program", m.of_program);
    }
};

struct Answer {
    enum class Kind : std::uint8_t {
        done,     // the key is this message's
        accepted, // another message has it: that of `node` with `id` and `digest`
        busy,     // another message with it is being accepted by `node`, or it is not known what became of that
        failed,   // the store cannot be asked: `why`; the step may have been taken or not
        last_ = failed,
    };
    std::uint64_t number = 0;
    Kind kind = Kind::failed;
    std::string node, digest, why;
    std::uint64_t id = 0;
    static void fields(auto& m, auto& f) {
        f("number", m.number);
        f("kind", m.kind);
        f("node", m.node);
        f("digest", m.digest);
        f("why", m.why);
        f("id", m.id);
    }
};

using Message = std::variant<Ask, Answer>;

} // namespace proto::key_claims

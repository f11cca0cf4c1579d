// fleet ↔ queue-manager: what this node's own store of idempotency keys has, which decides what became of a message
// whose writer has not said so, and fills a store of the fleet that has lost it.
//
//   AskAttempts, AskAccepted   from fleet; the number of the question comes back with the answer
//   Attempts, Accepted         from the queue-manager
#pragma once
#include "libspool/format/queue_id.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace proto::key_records {

inline constexpr std::string_view conversation = "key-records";
inline constexpr std::size_t most = 100; // in a message: it fits into a frame

struct Attempt { // to accept a message with a key
    std::string name;
    spool::QueueId id;
    static void fields(auto& m, auto& f) {
        f("name", m.name);
        f("id", m.id);
    }
};
struct AskAttempts {
    std::uint64_t number = 0;
    std::vector<Attempt> attempts;
    static void fields(auto& m, auto& f) {
        f("number", m.number);
        f("attempts", m.attempts);
    }
};

enum class Fate : std::uint8_t {
    open,     // not known yet
    accepted, // the message is durable
    gone,     // there is none, nor will there be
    last_ = gone,
};
struct Found {
    Fate fate = Fate::open;
    std::int64_t expires = 0; // accepted: when the key does, in µs since 1970
    static void fields(auto& m, auto& f) {
        f("fate", m.fate);
        f("expires", m.expires);
    }
};
struct Attempts { // in the order of the question
    std::uint64_t number = 0;
    std::vector<Found> found;
    static void fields(auto& m, auto& f) {
        f("number", m.number);
        f("found", m.found);
    }
};

// All keys of accepted messages, in parts; `after`: as the last answer had it, at first "".
struct AskAccepted {
    std::uint64_t number = 0;
    std::string after;
    static void fields(auto& m, auto& f) {
        f("number", m.number);
        f("after", m.after);
    }
};
struct Key {
    std::string name, digest;
    spool::QueueId id;
    std::int64_t expires = 0;
    bool of_program = false; // its submitter is a program's user
    static void fields(auto& m, auto& f) {
        f("name", m.name);
        f("digest", m.digest);
        f("id", m.id);
        f("expires", m.expires);
        f("of_program", m.of_program);
    }
};
struct Accepted {
    std::uint64_t number = 0;
    std::string error; // "": none
    std::vector<Key> keys;
    std::string after;
    bool last = false;
    static void fields(auto& m, auto& f) {
        f("number", m.number);
        f("error", m.error);
        f("keys", m.keys);
        f("after", m.after);
        f("last", m.last);
    }
};

using Message = std::variant<AskAttempts, Attempts, AskAccepted, Accepted>;

} // namespace proto::key_records

// Idempotency keys: what is recorded of a submission that carries one, what the key may look like, and how a further
// submission with the same key is judged. Pure; a claim's bytes are tagged fields (libspool/format/fields.h).
#pragma once
#include "libsmtp/message/control_fields.h"
#include "libspool/format/envelope.h"
#include "libspool/format/queue_id.h"
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace decide::idempotency {

inline constexpr std::string_view field_name = "Idempotency-Key";
inline constexpr std::size_t longest = 255; // characters of a key
// Of the keys that this system gives to files of the pickup directory, which are only meant for this node.
inline constexpr std::string_view own_key_prefix = "pickup-directory/";

// The key in the header field with that number: "" if there is none. The error says what is wrong with it, worded for
// the client that sent it.
std::expected<std::string, std::string> key_in(const smtp::ControlFields& header, std::size_t field);

// The submission apart from its content, as text: sender and recipients with their DSN parameters, and when it is to be
// sent ("" at once, else as the client wrote it). Excludes the order of recipients, and ENVID, which distinguishes
// attempts.
std::string request_of(const spool::Envelope& envelope, std::string_view schedule);

// reserved: its owner is about to make the message durable, has done so, has given up, or is dead. accepted: the
// message was made durable.
enum class State : std::uint8_t { reserved, accepted, last_ = accepted };

struct Claim {
    State state = State::reserved;
    spool::QueueId id;     // of the message
    std::string digest;    // of the content and of request_of()
    std::string owner;     // reserved: the process
    std::string submitter; // as in the envelope
    std::string key;

    static void fields(auto& m, auto& f) {
        f(1, m.state);
        f(2, m.id);
        f(3, m.digest);
        f(4, m.owner);
        f(5, m.submitter);
        f(6, m.key);
    }
    bool operator==(const Claim&) const = default;
    Claim accepted() const {
        auto out = *this;
        out.state = State::accepted;
        out.owner.clear();
        return out;
    }
};
std::string encode(const Claim& claim);
std::optional<Claim> decode(std::string_view bytes);

enum class Owner : bool { dead, alive };
// Where the file of a claim's message is.
enum class Trace : std::uint8_t { nowhere, incoming, messages };

enum class Verdict : std::uint8_t {
    duplicate,     // the message was accepted
    other_content, // a message with other content was accepted
    busy,          // not known yet: ask again
    abandoned,     // there is no message, nor will there be one: the claim is void
};
// Verdict on a submission with `digest`, given the existing claim. Owner and trace count if it is reserved; for a dead
// owner, look for the trace after its death. The queue-manager takes over only what was accepted, and removes no file
// before the claim says so.
Verdict judge(const Claim& there, std::string_view digest, Owner owner, Trace trace);

} // namespace decide::idempotency

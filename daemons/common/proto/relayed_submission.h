// http → pickup: messages of clients that http has authenticated, one after the other on a connection.
//
//   Source Begin [Requests] Recipients… Content… End   nothing is submitted before End has arrived
//   Outcome                                            from pickup, after End or before it; the next Source follows
#pragma once
#include "daemons/common/proto/submit.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace proto::relayed_submission {

inline constexpr std::string_view conversation = "relayed-submission";

struct Source {
    std::string submitter; // as in the envelope: "token:shop", "uid:1000"
    std::string client;    // its address; "" it came over the socket
    bool node = false;     // it is another node: Import… Content… End follow, of a message that comes from there
    static void fields(auto& m, auto& f) {
        f("submitter", m.submitter);
        f("client", m.client);
        f("node", m.node);
    }
};

// Why a message was refused, as far as programs must know it.
enum class Cause : std::uint8_t {
    other,
    key_reused,  // for other content
    key_busy,    // a message with this key is being submitted
    suppressed,  // all recipients are
    unavailable, // no mail is accepted now
    in_doubt,    // pickup has gone: it may have been accepted
    last_ = in_doubt,
};

struct Suppressed {
    std::string address, reason;
    static void fields(auto& m, auto& f) {
        f("address", m.address);
        f("reason", m.reason);
    }
};

struct Outcome {
    std::uint8_t status = 0; // of sysexits.h; 0 durable
    std::string queue_id, message_id;
    std::string text; // why it was refused
    Cause cause = Cause::other;
    bool duplicate = false;             // of queue_id, by its idempotency key: nothing was submitted
    std::string node;                   // duplicate: that accepted the first one; "": this one
    std::vector<Suppressed> suppressed; // recipients that the message was not accepted for
    static void fields(auto& m, auto& f) {
        f("status", m.status);
        f("queue_id", m.queue_id);
        f("message_id", m.message_id);
        f("text", m.text);
        f("cause", m.cause);
        f("duplicate", m.duplicate);
        f("node", m.node);
        f("suppressed", m.suppressed);
    }
};

using Message = std::variant<Source, submit::Begin, submit::Import, submit::Recipients, submit::Requests,
                             submit::Content, submit::End, Outcome>;

} // namespace proto::relayed_submission

// The verdicts of a client session, worded as log analysers expect them: for replies, for lost connections, and for
// reasons to end a session on this side. Pure; the session's state is passed as parameters.
#pragma once
#include "libsmtp/delivery/remote_reply.h"
#include "libsmtp/protocol/reply.h"
#include <cstdint>
#include <string>
#include <string_view>

namespace smtp {

// The activity in a stage: "performing the EHLO handshake".
std::string_view activity_of(Stage stage);

// A reply's verdict; `peer` is "NAME[IP]". `shown`: the reply as it may be shown, if that is not reply.line().
Verdict verdict_of(Stage stage, const Reply& reply, std::string_view peer);
Verdict verdict_of(Stage stage, const Reply& reply, std::string_view peer, std::string shown);

// Deferred because "NAME[IP]" was lost in that stage; `how`: "lost connection with".
enum class Doubt : std::uint8_t {
    none,
    fully_sent
}; // fully_sent: all of a message had been sent, its reply never came
Verdict connection_lost(std::string_view how, std::string_view peer, Stage stage, Doubt doubt);

// Deferred by this side; `text` may hold foreign bytes.
Verdict deferral(Stage stage, std::string_view status, std::string_view text);
// Rejected by this side: the server cannot take it.
Verdict refusal(Stage stage, std::string_view status, std::string_view text);

// How a session ends before quit() ends it.
struct Ending {
    enum class Kind : std::uint8_t {
        orderly,          // nothing is wrong: what has not begun is delivered elsewhere
        failure,          // for `why`
        refusal,          // for `why`, a reply of the server; QUIT is sent
        chunking_failure, // for `why`; BDAT is not to be used with this server
        lost,             // `text` is connection_lost()'s `how`
        protocol_error,   // `text` is what violates the protocol
    };
    Kind kind = Kind::orderly;
    Verdict why = {};
    std::string text = {};

    static Ending failed(Verdict why) { return {Kind::failure, std::move(why)}; }
    static Ending refused(Verdict why) { return {Kind::refusal, std::move(why)}; }
    static Ending mismatch(std::string text) { return {Kind::protocol_error, {}, std::move(text)}; }
};

} // namespace smtp

#include "libsmtp/session/client/verdicts.h"
#include "libsmtp/text/text.h"
#include <fmt/format.h>

namespace smtp {
namespace {

constexpr std::size_t text_limit = 512; // of a Verdict's text

Outcome outcome_of(int code) {
    return code >= 500 ? Outcome::failed : code >= 400 ? Outcome::deferred : Outcome::delivered;
}

} // namespace

std::string_view activity_of(Stage stage) {
    switch (stage) {
    case Stage::banner: return "receiving the initial server greeting";
    case Stage::ehlo: return "performing the EHLO handshake";
    case Stage::tls: return "performing the TLS handshake";
    case Stage::auth: return "authenticating";
    case Stage::mail: return "sending MAIL FROM";
    case Stage::rcpt: return "sending RCPT TO";
    case Stage::data: return "sending DATA command";
    case Stage::content: return "sending message body";
    case Stage::final_dot: return "sending end of data -- message may be sent more than once";
    default: return "waiting for the next message";
    }
}

Verdict verdict_of(Stage stage, const Reply& reply, std::string_view peer) {
    return verdict_of(stage, reply, peer, printable(reply.line(), text_limit));
}

Verdict verdict_of(Stage stage, const Reply& reply, std::string_view peer, std::string shown) {
    Verdict out;
    out.outcome = outcome_of(reply.code);
    out.stage = stage;
    out.code = static_cast<std::uint16_t>(reply.code);
    out.status = reply.status.given() ? reply.status.text() : fmt::format("{}.0.0", reply.code / 100);
    out.remote_reply = std::move(shown);
    const std::string_view line = out.remote_reply;
    if (out.outcome == Outcome::delivered) {
        out.text = line;
    } else if (stage == Stage::banner || stage == Stage::ehlo) {
        out.text = printable(fmt::format("host {} refused to talk to me: {}", peer, line), text_limit);
    } else {
        const auto before = fmt::format("host {} said: ", peer);
        const auto after = fmt::format(" (in reply to {})", command_of(stage));
        const auto taken = before.size() + after.size();
        out.text = before + printable(line, text_limit > taken + 64 ? text_limit - taken : 64) + after;
    }
    return out;
}

Verdict connection_lost(std::string_view how, std::string_view peer, Stage stage, Doubt doubt) {
    Verdict out;
    out.in_doubt = doubt == Doubt::fully_sent;
    out.stage = out.in_doubt ? Stage::final_dot : stage; // by BDAT it may be out before MAIL is answered
    out.status = "4.4.2";
    out.text = printable(fmt::format("{} {} while {}", how, peer, activity_of(out.stage)), text_limit);
    return out;
}

Verdict deferral(Stage stage, std::string_view status, std::string_view text) {
    Verdict out;
    out.stage = stage;
    out.status = status;
    out.text = printable(text, text_limit);
    return out;
}

Verdict refusal(Stage stage, std::string_view status, std::string_view text) {
    auto out = deferral(stage, status, text);
    out.outcome = Outcome::failed;
    return out;
}

} // namespace smtp

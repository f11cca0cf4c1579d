#include "daemons/decide/failure.h"

namespace decide {
namespace {

FailureKind kind_of(const Observation& seen) {
    using smtp::Stage;
    const bool link_at_fault = seen.code == 421 || seen.code == 0; // its own wish, or silence
    switch (seen.stage) {
    case Stage::lookup:
    case Stage::connect:
    case Stage::banner:
    case Stage::ehlo:
    case Stage::auth: return FailureKind::connection;
    case Stage::tls: return FailureKind::policy;
    case Stage::mail: return link_at_fault ? FailureKind::connection : FailureKind::message;
    case Stage::rcpt: return link_at_fault ? FailureKind::connection : FailureKind::recipient;
    // 421 to DATA: nothing of the message is there yet, another host may take it. Silence there is already
    // the message's, as it is for everything later: it may be what kills the conversation.
    case Stage::data: return seen.code == 421 ? FailureKind::connection : FailureKind::message;
    case Stage::content:
    case Stage::final_dot:
    case Stage::none: return FailureKind::message;
    case Stage::local: return FailureKind::recipient;
    }
    return FailureKind::message;
}

} // namespace

Failure classify(const Observation& seen) {
    Failure out;
    out.kind = kind_of(seen);
    const bool permanent = seen.code != 0 ? seen.code >= 500 : seen.status.starts_with('5');
    // TLS that fails today may work tomorrow; plain text is never the answer, nor is giving up.
    out.severity = permanent && seen.stage != smtp::Stage::tls ? Severity::permanent : Severity::temporary;
    const bool after_ehlo = seen.stage > smtp::Stage::ehlo && seen.stage < smtp::Stage::local;
    out.push_back = seen.code == 421 && seen.status.starts_with("4.7.") && after_ehlo;
    // A refusal of our own before anything was sent (size, 8-bit, address) is about the message, though no
    // peer spoke.
    if (seen.code == 0 && permanent && seen.stage == smtp::Stage::mail) out.kind = FailureKind::message;
    if (seen.code == 0 && permanent && seen.stage == smtp::Stage::rcpt) out.kind = FailureKind::recipient;
    return out;
}

} // namespace decide

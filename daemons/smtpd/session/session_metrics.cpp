#include "daemons/smtpd/session/session_metrics.h"

namespace smtpd {

using common::Ending;
using common::Family;
using common::RejectStage;

static RejectStage stage_of(smtp::Verb command) {
    using smtp::Verb;
    switch (command) {
    case Verb::connect: return RejectStage::connect;
    case Verb::helo:
    case Verb::ehlo: return RejectStage::helo;
    case Verb::mail: return RejectStage::mail;
    case Verb::rcpt: return RejectStage::rcpt;
    case Verb::data:
    case Verb::bdat: return RejectStage::data;
    case Verb::auth: return RejectStage::auth;
    case Verb::end_of_message: return RejectStage::message;
    default: return RejectStage::other;
    }
}

void count_reject(common::Figures& figures, smtp::Verb command, const smtp::Reply& reply) {
    figures.count(Family::rejects, stage_of(command),
                  reply.code < 500 ? common::RejectKind::temporary : common::RejectKind::permanent);
}

void count_end(common::Figures& figures, smtp::event::Disconnect::Cause cause) {
    using Cause = smtp::event::Disconnect::Cause;
    const auto end = [&] {
        switch (cause) {
        case Cause::quit: return Ending::quit;
        case Cause::lost: return Ending::lost;
        case Cause::timed_out: return Ending::timeout;
        case Cause::too_many_errors: return Ending::errors;
        default: return Ending::other;
        }
    }();
    figures.count(Family::session_ends, end);
}

} // namespace smtpd

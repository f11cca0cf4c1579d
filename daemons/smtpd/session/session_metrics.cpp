#include "daemons/smtpd/session/session_metrics.h"

namespace smtpd {

using common::MetricId;
using common::RejectStage;
using common::SessionEnd;

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

void count_reject(common::Metrics& metrics, smtp::Verb command, const smtp::Reply& reply) {
    metrics.count(MetricId::rejects, stage_of(command),
                  reply.code < 500 ? common::RejectClass::temporary : common::RejectClass::permanent);
}

void count_end(common::Metrics& metrics, smtp::event::Disconnect::Cause cause) {
    using Cause = smtp::event::Disconnect::Cause;
    const auto end = [&] {
        switch (cause) {
        case Cause::quit: return SessionEnd::quit;
        case Cause::lost: return SessionEnd::lost;
        case Cause::timed_out: return SessionEnd::timeout;
        case Cause::too_many_errors: return SessionEnd::errors;
        default: return SessionEnd::other;
        }
    }();
    metrics.count(MetricId::session_ends, end);
}

} // namespace smtpd

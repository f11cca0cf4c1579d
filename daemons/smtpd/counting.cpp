#include "daemons/smtpd/counting.h"

namespace smtpd {

using common::Ending;
using common::Family;
using common::RejectStage;

static RejectStage stage_of(std::string_view command) {
    constexpr struct {
        std::string_view command;
        RejectStage stage;
    } table[] = {
        {"CONNECT", RejectStage::connect}, {"HELO", RejectStage::helo}, {"EHLO", RejectStage::helo},
        {"MAIL", RejectStage::mail},       {"RCPT", RejectStage::rcpt}, {"DATA", RejectStage::data},
        {"BDAT", RejectStage::data},       {"AUTH", RejectStage::auth}, {"END-OF-MESSAGE", RejectStage::message},
    };
    for (const auto& row : table)
        if (row.command == command) return row.stage;
    return RejectStage::other;
}

void count_reject(common::Figures& figures, std::string_view command, const smtp::Reply& reply) {
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

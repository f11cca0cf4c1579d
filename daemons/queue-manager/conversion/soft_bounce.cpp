#include "daemons/queue-manager/conversion/soft_bounce.h"
#include "daemons/common/config/config.h"
#include "daemons/decide/outcome/failure.h"
#include <utility>

namespace queue_manager {

namespace {

void soften(std::string& status) { status = decide::status_as(std::move(status), decide::Severity::temporary); }

} // namespace

proto::categorize::Categorized softened(proto::categorize::Categorized answer) {
    for (auto& outcome : answer.outcomes) {
        if (outcome.fate != spool::Fate::failed) continue;
        outcome.fate = spool::Fate::unknown;
        soften(outcome.status);
    }
    return answer;
}

proto::route::Routed softened(proto::route::Routed answer) {
    if (answer.kind != decide::RouteKind::permanent) return answer;
    answer.kind = decide::RouteKind::temporary;
    soften(answer.status);
    return answer;
}

proto::delivery::Done softened(proto::delivery::Done done) {
    for (auto& result : done.results) {
        if (result.outcome != proto::delivery::Outcome::failed) continue;
        result.outcome = proto::delivery::Outcome::deferred;
        if (result.reply < done.replies.size()) soften(done.replies[result.reply].status);
    }
    return done;
}

decide::queue::Reason softened(decide::queue::Reason reason) {
    soften(reason.status);
    return reason;
}

decide::queue::Settings engine_settings(const config::Config& config) {
    auto out = config.queue;
    out.soft_bounce = config.bounce.soft_bounce;
    out.in_fleet = config.fleet.enabled();
    out.expected_nodes = config.fleet.expected_nodes;
    return out;
}

std::string_view soft_bounce_notice(const config::Config& config) {
    return config.bounce.soft_bounce
               ? "bounce.soft_bounce is on: mail that fails is kept and retried; none is returned or expires"
               : "";
}

std::string_view dry_bounce_notice(const config::Config& config) {
    return config.bounce.dry_bounce
               ? "bounce.withhold_reports is on: reports are written to bad/ in the spool, senders are not notified"
               : "";
}

} // namespace queue_manager

#include "daemons/queue-manager/control/pause_text.h"
#include "libsmtp/text/date.h"
#include <fmt/format.h>

namespace queue_manager {

using decide::queue::Scope;
using decide::queue::Waiting;

std::string pause_text(const decide::queue::PausedObject& stop, const Pauses& pauses) {
    const auto* pause = find(pauses, stop.scope, stop.name);
    if (pause == nullptr) return "postrider is stopping";
    return fmt::format("{}{}{} is paused by {}{}{}", word_of(stop.scope), stop.name.empty() ? "" : " ", stop.name,
                       pause->who, pause->why.empty() ? "" : ": ", pause->why);
}

std::string resume_advice(Scope scope, const std::string& name) {
    if (scope == Scope::everything) return "\"postrider resume all\" ends the pause.";
    return fmt::format("\"postrider resume {} {}\" ends the pause.", word_of(scope), name);
}

void set_pause_reasons(decide::queue::MessageInfo& info, const Pauses& pauses) {
    for (auto& delivery : info.deliveries) {
        if (delivery.paused_by) {
            delivery.reason = {};
            delivery.reason.text = pause_text(*delivery.paused_by, pauses);
        } else if (delivery.waiting == Waiting::scheduled && delivery.next_attempt != smtp::WallTime{}) {
            delivery.reason = {};
            delivery.reason.text =
                fmt::format("not before {}, as its sender requested", smtp::rfc3339_date(delivery.next_attempt));
        }
    }
}

} // namespace queue_manager

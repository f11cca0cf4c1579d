// What keeps mail here by our own doing, in words: what an operator has paused, who and why, and times that senders
// chose. Pure.
#pragma once
#include "daemons/decide/queue/listing.h"
#include "daemons/queue-manager/control/pauses.h"
#include <string>

namespace queue_manager {

// "queue example.org is paused by ann: their move".
std::string pause_text(const decide::queue::PausedObject& stop, const Pauses& pauses);
// "postrider resume queue example.org lets it go."
std::string resume_advice(decide::queue::Scope scope, const std::string& name);

// Deliveries that are paused or scheduled get that for their reason.
void set_pause_reasons(decide::queue::MessageInfo& info, const Pauses& pauses);

} // namespace queue_manager

// What `explain` says of recipients: every gate before each, where a closed one comes from, and how to open it. Pure;
// the words are those of proto/control.h.
#pragma once
#include "daemons/decide/queue/listing.h"
#include "daemons/queue-manager/control/pauses.h"
#include "daemons/queue-manager/control/recipient_part.h"
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace queue_manager {

// A line per chosen recipient. `pauses`: who closed which gate. `user`: that the delivery agents run as; "" not known.
std::vector<nlohmann::json> explained(spool::QueueId id, const std::vector<decide::queue::Explanation>& explanations,
                                      const spool::MessageState& state, const ChosenRecipients& chosen,
                                      const Pauses& pauses, const std::string& user = {});

} // namespace queue_manager

// What an operator can do about what holds a message up: what the router, a link or a server said, put to
// decide::advice. Pure. "" where nothing can be said.
#pragma once
#include "daemons/decide/queue/listing.h"
#include "libspool/message_state.h"
#include <string>

namespace queue_manager {

// About a closed gate of a recipient's delivery to `queue`.
std::string advice_on(const decide::queue::GateInfo& gate, const spool::RecipientState& recipient, const std::string& queue);
// About what a delivery waits for; without any such thing, about the last reply to the recipient.
std::string advice_on(const decide::queue::DeliveryInfo& delivery, const spool::RecipientState& recipient);

} // namespace queue_manager

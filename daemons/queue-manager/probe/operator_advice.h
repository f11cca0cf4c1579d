// What an operator can do about what holds a message up: what the router, a link or a server said, put to
// decide::advice. One failure has one answer, whichever view asks. Pure. "" where nothing can be said.
#pragma once
#include "daemons/decide/queue/listing.h"
#include "libspool/message/message_state.h"
#include <string>
#include <string_view>

namespace queue_manager {

// Where mail was to go when it failed, and as whom.
struct FailureContext {
    std::string_view domain; // of the recipient
    std::string_view link;   // "" not known
    std::string_view user;   // that the delivery agents run as; "" not known
};

// About a failure on the way to a server, or there. `host`: as of an attempt; "" what the reason knows.
std::string advice_on(const decide::queue::Reason& reason, const FailureContext& errand, std::string_view host = {});
// About a closed gate of a recipient's delivery.
std::string advice_on(const decide::queue::GateInfo& gate, const spool::RecipientState& recipient,
                      const FailureContext& errand);
// About what a delivery waits for; without any such thing, about the last reply to the recipient.
std::string advice_on(const decide::queue::DeliveryInfo& delivery, const spool::RecipientState& recipient,
                      std::string_view user);

} // namespace queue_manager

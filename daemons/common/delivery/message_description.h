// What the journal has to say of a message and the recipients of a delivery, put into the agent's report, so that the
// queue-manager need not open the file again. Knows both forms; decides nothing.
#pragma once
#include "daemons/common/proto/delivery.h"
#include "libspool/message/message_state.h"

namespace common {

// Of the message, and of the recipients that the report has results for.
void describe_message(proto::delivery::Done& done, const proto::delivery::Deliver& order,
                      const spool::MessageState& state);
// Of the same recipients, in the same order; some at the end may be missing in either.
void copy_description(const proto::delivery::Done& from, proto::delivery::Done& to);

} // namespace common

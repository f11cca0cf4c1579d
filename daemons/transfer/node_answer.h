// What another node's answer to a transfer means. Pure.
#pragma once
#include "daemons/common/net/https.h"
#include "daemons/common/proto/transfer.h"

namespace transfer {

// `queue_id`, `generation`: of the message that was sent.
proto::transfer::Sent meaning_of(const common::Https::Answer& answer, spool::QueueId queue_id,
                                 std::uint32_t generation);

} // namespace transfer

// A message as the categorizer is asked about it: from ann@example.org to these addresses.
#pragma once
#include "libspool/message/message_state.h"
#include <string>
#include <utility>
#include <vector>

namespace queue_manager::testing {

inline spool::MessageState message(std::vector<std::string> recipients) {
    spool::Envelope envelope;
    envelope.reverse_path = "ann@example.org";
    for (auto& address : recipients) envelope.recipients.push_back({.address = address});
    return spool::MessageState(std::move(envelope));
}

} // namespace queue_manager::testing

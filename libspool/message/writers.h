// Who writes which messages into the spool, and which facts each may set. A writer is
// identified by its slot, which is part of every queue id, so every reader can verify this,
// whatever the writer reported to the queue-manager. Knows slots and envelopes; no processes.
#pragma once
#include "libspool/format/envelope.h"
#include <cstdint>
#include <string>

namespace spool {

inline constexpr std::uint8_t report_slot = 1;        // bounce
inline constexpr std::uint8_t submission_slot = 2;    // pickup: programs of this host, and operators' imports
inline constexpr std::uint8_t first_client_slot = 16; // smtpd's workers

// What this envelope says that its writer has no say in; "" nothing. Which user, place, program or next hop serves a
// recipient, and what became of one, the queue-manager alone decides and records: only a message that an operator
// imports brings it along. Only bounce writes reports.
std::string violates_writer_rights(const Envelope& envelope, std::uint8_t slot);

} // namespace spool

// Who writes which messages into the spool, and what each may say of them. A writer is known by its slot, which is part
// of every queue id, so every reader judges alike whom it has before it, whatever the writer told the queue-manager.
// Knows slots and envelopes; no processes.
#pragma once
#include "libspool/format/envelope.h"
#include <cstdint>
#include <string>

namespace spool {

inline constexpr std::uint8_t slot_of_reports = 1;     // bounce
inline constexpr std::uint8_t slot_of_submissions = 2; // pickup: programs of this host, and operators' imports
inline constexpr std::uint8_t first_slot_of_clients = 16; // smtpd's workers

// What this envelope says that its writer has no say in; "" nothing. Which user, place, program or next hop serves a
// recipient, and what became of one, the queue-manager alone decides and records: only a message that an operator
// imports brings it along. Only bounce writes reports.
std::string beyond_its_writer(const Envelope& envelope, std::uint8_t slot);

} // namespace spool

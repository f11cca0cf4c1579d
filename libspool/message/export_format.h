// A message exported from one spool and imported into another:
// a copy of its file, and its envelope under a new id.
#pragma once
#include "libspool/disk/disk.h"
#include "libspool/format/envelope.h"
#include "libspool/message/message_reader.h"
#include <functional>
#include <string_view>

namespace spool {

// Compares every checksum, then hands over the file's bytes, piece by piece. The first error `take` returns
// ends it.
ReadResult<> export_message(Disk& disk, QueueId id, const std::function<Result<>(std::string_view)>& take);

// A recipient as an envelope has it: under its present address, with what was decided about it.
EnvelopeRecipient present_form(const MessageState& state, const RecipientState& recipient);

// The envelope of what is left to be done: the recipients that are not accounted for, under their present
// addresses, with their DSN parameters; what operators and routes have decided since (hold, expiry, policy,
// lane, reroute) is part of it. No recipients: nothing is left.
Envelope remaining_envelope(const MessageState& state);

// What another node is given: the whole envelope, and the state of every recipient. The content that goes with it is
// read as edited. `generation`: of this transfer of that message.
Envelope transfer_envelope(const MessageState& state, std::string node, QueueId id, std::uint32_t generation);
// What the key of a transfer stands for, besides the content: sender and recipients.
std::string transfer_request(const Envelope& envelope);

} // namespace spool

// The frames that hand a message of a spool file to pickup under a given envelope, made on demand; the content is read
// and its checksum compared on the way. Knows the conversation; must not know where the file is or why it is submitted.
#pragma once
#include "daemons/common/config/sections/system/mta.h"
#include "daemons/common/config/sections/system/spool.h"
#include "daemons/common/proto/submit.h"
#include "libspool/format/envelope.h"
#include "libspool/message/message_reader.h"
#include <expected>
#include <string>

namespace postrider {

// Submits it, durably before this returns: its queue id and what pickup says about it. An error was printed, with
// `name` and `nothing_done` ("nothing was imported"), and is the exit status.
std::expected<proto::submit::Answer, int> submit_copy(const config::Spool& spool, const config::Mta& mta,
                                                      spool::MessageReader& reader, const spool::Envelope& envelope,
                                                      const std::string& name, const std::string& nothing_done);

} // namespace postrider

// The header of one message as the rules for outgoing headers change it. Reads the message; knows no server.
#pragma once
#include "daemons/common/filters/content_checks.h"
#include "libspool/message/message_reader.h"
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace smtp_client {

// A header that is sent in place of the first bytes of the stored content.
struct OutgoingHeader {
    std::string text; // fields with their CRLFs
    std::size_t stored_size = 0;
};

struct RuledHeader {
    std::optional<OutgoingHeader> header; // nothing: as stored
    std::vector<common::ContentFinding> findings;
    std::vector<std::string> warnings;
};

// May block for a disk read of 4 MiB; a longer header stays as it is.
spool::ReadResult<RuledHeader> ruled_header(spool::MessageReader& message, const common::ContentRules& rules);

} // namespace smtp_client

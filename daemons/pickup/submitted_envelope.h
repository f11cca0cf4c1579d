// The envelope of a submission, from what its program gave: addresses completed, everything checked. Pure. A refusal
// leaves in the envelope what was understood before it: a report to the sender needs that.
#pragma once
#include "daemons/common/proto/submit.h"
#include "libspool/format/envelope.h"
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace pickup {

// Why a submission is refused: an exit status of sysexits(3), and one line.
struct Refusal {
    std::uint8_t exit_status;
    std::string text;
};
using Accepted = std::expected<void, Refusal>;

// Completes bare names, and limits how many recipients there are.
struct AddressRules {
    std::string_view origin;
    std::size_t max_recipients;
};

// "" is the null sender.
Accepted set_sender(spool::Envelope& envelope, std::string_view given, std::string_view origin);
Accepted add_recipients(spool::Envelope& envelope, const std::vector<proto::submit::Recipient>& given,
                        const AddressRules& rules);
// A complete address.
Accepted add_recipient(spool::Envelope& envelope, const std::string& address, const std::string& orcpt,
                       std::uint8_t notify, std::size_t max_recipients);
// RET, ENVID, BODY, SMTPUTF8 and REQUIRETLS.
Accepted set_options(spool::Envelope& envelope, const proto::submit::Begin& begin);

// No control characters.
bool is_one_line(std::string_view text);
// Does the header that `content` begins with have UTF-8 in it (RFC 6532)? Other bytes beyond ASCII are of some older
// charset, and always have been passed on.
bool has_utf8_header(std::string_view content);

} // namespace pickup

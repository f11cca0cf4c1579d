#include "daemons/common/submission/automatic_bcc.h"
#include "daemons/common/submission/address_map.h"
#include "libsmtp/text/text.h"
#include <algorithm>

namespace common {

bool add_bcc_recipient(spool::Envelope& envelope, const std::string& address) {
    if (std::ranges::any_of(envelope.recipients, [&](const auto& recipient) {
            return smtp::same_ignoring_case(recipient.address, address);
        }))
        return false;
    auto& copy = envelope.recipients.emplace_back();
    copy.address = address;
    copy.notify = spool::Notify::never;
    return true;
}

bool add_automatic_bcc(const BccRules& rules, spool::Envelope& envelope) {
    const auto& [copies, delimiter] = rules;
    std::vector<std::string> wanted = copies.always;
    if (const auto* to = find_by_address(copies.by_sender, envelope.reverse_path, delimiter)) wanted.push_back(*to);
    for (const auto& recipient : envelope.recipients)
        if (const auto* to = find_by_address(copies.by_recipient, recipient.address, delimiter)) wanted.push_back(*to);
    bool added = false;
    for (const auto& address : wanted) added |= add_bcc_recipient(envelope, address);
    return added;
}

} // namespace common

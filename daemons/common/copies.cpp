#include "daemons/common/copies.h"
#include "libsmtp/text.h"
#include <algorithm>

namespace common {

namespace {

using Table = std::map<std::string, std::string, std::less<>>;

// By the whole address, by the address without its extension, by its domain: the first there is.
const std::string* look_up(const Table& table, std::string_view address, std::string_view delimiter) {
    const auto key = smtp::lowered(address);
    const auto at = key.rfind('@');
    if (table.empty() || at == key.npos) return nullptr;
    const auto domain = key.substr(at);
    auto keys = std::vector<std::string>{key, domain};
    if (const auto plus = key.find(delimiter); !delimiter.empty() && plus > 0 && plus < at)
        keys.insert(keys.begin() + 1, key.substr(0, plus) + domain);
    for (const auto& each : keys)
        if (const auto found = table.find(each); found != table.end()) return &found->second;
    return nullptr;
}

} // namespace

bool add_copy(spool::Envelope& envelope, const std::string& address) {
    if (std::ranges::any_of(envelope.recipients, [&](const auto& recipient) {
            return smtp::same_ignoring_case(recipient.address, address);
        }))
        return false;
    auto& copy = envelope.recipients.emplace_back();
    copy.address = address;
    copy.notify = spool::Notify::never;
    return true;
}

bool add_copies(const config::Config& config, spool::Envelope& envelope) {
    const auto& copies = config.copies;
    const std::string_view delimiter = config.local.recipient_delimiter;
    std::vector<std::string> wanted = copies.always;
    if (const auto* to = look_up(copies.by_sender, envelope.reverse_path, delimiter)) wanted.push_back(*to);
    for (const auto& recipient : envelope.recipients)
        if (const auto* to = look_up(copies.by_recipient, recipient.address, delimiter)) wanted.push_back(*to);
    bool added = false;
    for (const auto& address : wanted) added |= add_copy(envelope, address);
    return added;
}

} // namespace common

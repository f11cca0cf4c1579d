// What a failure is about, in a word of a fixed list, for history and statistics: from its enhanced status (RFC 3463
// and IANA's registry), else from the reply's code and the stage of the conversation, never from human text. It decides
// nothing: failure.h says whether mail is tried again. Pure.
#pragma once
#include "daemons/decide/outcome/failure.h"
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace decide {

enum class ReplyClass : std::uint8_t {
    // the recipient
    bad_mailbox,
    inactive_mailbox,
    bad_domain,
    mailbox_full,
    moved,
    // message or sender
    too_large,
    content,
    sender,
    // us, as seen from there
    blocked,
    rate_limited,
    authentication, // SPF, DKIM, DMARC
    reverse_name,
    // the way there
    policy,
    protocol,
    tls,
    system_full,
    system,
    connection,
    dns,
    routing,
    expired,
    other,
    last_ = other,
};

// Names never change their meaning.
constexpr std::string_view name_of(ReplyClass each) {
    constexpr std::string_view names[] = {
        "bad-mailbox", "inactive-mailbox", "bad-domain", "mailbox-full", "moved",          "too-large",
        "content",     "sender",           "blocked",    "rate-limited", "authentication", "reverse-name",
        "policy",      "protocol",         "tls",        "system-full",  "system",         "connection",
        "dns",         "routing",          "expired",    "other"};
    return names[static_cast<std::size_t>(each)];
}

// Of a failure, temporary or permanent.
ReplyClass class_of(const Observation& seen);

} // namespace decide

// Replies made from the answers of categorizer and queue manager: to RCPT, VRFY and ETRN; and to unknown
// commands. Pure: no session, no clock.
#pragma once
#include "daemons/common/proto/submission.h"
#include "daemons/common/submission/recipient_checker.h"
#include "daemons/smtpd/policy/relay_policy.h"
#include "daemons/smtpd/policy/rules.h"
#include "libsmtp/protocol/capabilities.h"
#include "libsmtp/protocol/client_attributes.h"
#include "libsmtp/protocol/reply.h"
#include "libsmtp/session/server_events.h"
#include "libsmtp/text/time_types.h"
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace smtpd {

// bounce.soft_bounce: permanent rejections become temporary ones.
smtp::Reply with_soft_bounce(smtp::Reply reply, const Rules& rules);

// EHLO, where the listener demands a client certificate: why that of the client will not do; nothing: it will.
std::optional<smtp::Reply> certificate_rejection(const Client& client, smtp::WallTime now);

// RCPT, of a recipient that is not known. `to`: as the client wrote it.
smtp::Reply recipient_rejection(const std::string& to, const common::RecipientChecker::Answer& checked);

// VRFY: what is to be verified, or the reply that is known without its class.
std::expected<smtp::ForwardPath, smtp::Reply> path_to_verify(const Rules& rules, const Client& client,
                                                             const std::string& argument);
// The address to ask the categorizer about, or the reply that is known without it.
std::expected<std::string, smtp::Reply> recipient_to_verify(const Rules& rules, const Client& client,
                                                            const smtp::ForwardPath& path,
                                                            const decide::ClassAnswer& where);
smtp::Reply verified_reply(const std::string& address, const common::RecipientChecker::Answer& checked);

// ETRN. `flushed`: the queue-manager's answer; null if there is none.
smtp::Reply etrn_reply(const std::string& node, const proto::submission::DomainFlushed* flushed);
smtp::Reply etrn_not_allowed(const std::string& node);
smtp::Reply etrn_too_often(const std::string& node);

smtp::Reply unknown_command_reply(const smtp::event::Unknown& unknown);

// The lines of EHLO that depend on the clock; "" if there are none.
std::string dynamic_capabilities(const smtp::Capabilities& offered, smtp::WallTime now);

// The attributes of XFORWARD, for the log, after the client itself; null: there are none.
std::string forwarded_text(const smtp::ClientAttributes* described);

} // namespace smtpd

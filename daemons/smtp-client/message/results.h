// Converts a spool file to a transaction, and its result to the report for the queue-manager. Knows the terms of all
// three; does no I/O.
#pragma once
#include "daemons/common/lookup/format/reply_rules.h"
#include "daemons/common/proto/delivery.h"
#include "daemons/decide/outcome/failure.h"
#include "daemons/smtp-client/message/content.h"
#include "libsmtp/session/client_session.h"
#include "libspool/message/message_reader.h"
#include <string>
#include <vector>

namespace smtp_client {

// The recipients that a delivery names, in the session's form. False: one of them does not exist.
bool make_transaction(const proto::delivery::Deliver& order, const spool::MessageReader& message, smtp::Now now,
                      smtp::Transaction& out);
// What precedes the header for these recipients: for mail that an alias or a .forward file here forwards, a
// Delivered-To field, by which it is recognized when it comes back; for a content filter, what the sender asked for.
std::string added_fields(const proto::delivery::Deliver& order, const spool::MessageReader& message,
                         smtp::WallTime now);
// What the session has to know about the content, which is prepared.
void describe(const Content& content, smtp::Transaction& out);

// The route's replacement for such a reply; its status gets the new class.
std::vector<decide::ReplyRule> reply_rules(const std::vector<std::string>& texts);
void apply_reply_rules(const std::vector<decide::ReplyRule>& rules, smtp::Verdict& verdict);
// smtp_client.reply_rules, where no rule of the route has applied. Returns a warning for the log; "" none.
std::string apply_reply_patterns(const common::ReplyPatterns& patterns, smtp::Verdict& verdict);
// bounce.soft_bounce: what failed permanently is retried.
void apply_soft_bounce(smtp::Verdict& verdict);

// `result`: for the order's recipients, in order.
proto::delivery::Done make_done(const proto::delivery::Deliver& order, const spool::MessageState& state,
                                const smtp::TransactionResult& result);
// The same verdict for all of them.
proto::delivery::Done make_done(const proto::delivery::Deliver& order, const smtp::Verdict& verdict);

} // namespace smtp_client

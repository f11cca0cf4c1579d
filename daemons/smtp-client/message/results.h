// From a spool file to a transaction and from its result to what the queue-manager is told. Knows the words
// of all three; does no I/O.
#pragma once
#include "daemons/common/proto/delivery.h"
#include "daemons/decide/outcome/failure.h"
#include "daemons/smtp-client/message/content.h"
#include "libsmtp/session/client_session.h"
#include "libspool/message/message_reader.h"
#include <string>
#include <vector>

namespace smtp_client {

// The recipients a delivery names, as the session wants them. False: one of them does not exist.
bool make_transaction(const proto::delivery::Deliver& order, const spool::MessageReader& message,
                      smtp::Transaction& out);
// What goes before the header on its way to these recipients: of mail that an alias or a .forward file here sends
// on, a Delivered-To field, by which it is known when it comes back.
std::string delivered_to_fields(const proto::delivery::Deliver& order, const spool::MessageReader& message);
// What the session has to know of the content, which is prepared.
void describe(const Content& content, smtp::Transaction& out);

// What the route says of such a reply instead; its status gets the new class.
std::vector<decide::ReplyRule> reply_rules(const std::vector<std::string>& texts);
void apply_reply_rules(const std::vector<decide::ReplyRule>& rules, smtp::Verdict& verdict);
// bounce.soft_bounce: what failed is tried again.
void apply_soft_bounce(smtp::Verdict& verdict);

// `result` is of the order's recipients, in order.
proto::delivery::Done make_done(const proto::delivery::Deliver& order, const spool::MessageState& state,
                                const smtp::TransactionResult& result);
// The same verdict for all of them.
proto::delivery::Done make_done(const proto::delivery::Deliver& order, const smtp::Verdict& verdict);

} // namespace smtp_client

// The Idempotency-Key of a message: of clients that may send to anywhere the field is heeded, and claimed
// once the content is known, before others look at it. A duplicate ends there.
#include "daemons/smtpd/session/connection.h"

namespace smtpd {

common::Submitter Connection::submitter() const {
    return may_relay(*rules_, client_) ? common::Submitter::trusted : common::Submitter::stranger;
}

// The content as it goes to the spool.
void Connection::update_fingerprint(std::string_view content) {
    auto& transaction = *transaction_;
    if (!transaction.fingerprint) return;
    transaction.fingerprint->feed(content);
    if (transaction.control.ended() && transaction.control.count(common::key_field) == 0)
        transaction.fingerprint.reset(); // most mail has none
}

void Connection::read_key() {
    auto& transaction = *transaction_;
    if (!transaction.fingerprint) return;
    const auto key = decide::idempotency::key_in(transaction.control, common::key_field);
    if (!key) return refuse_content({554, {5, 6, 0}, "Error: " + key.error()});
    if (key->empty()) return;
    transaction.envelope.idempotency_key = *key;
    transaction.envelope.idempotency_digest =
        transaction.fingerprint->finish(transaction.request + transaction.control.value(common::pool_field));
}

void Connection::claim_key() {
    worker_.keys.claim(
        transaction_->envelope, transaction_->id, [this](common::idempotency::Decision decision) {
            auto& transaction = *transaction_;
            if (decision.hold) {
                transaction.hold = std::move(decision.hold);
                check_content();
            } else {
                if (decision.duplicate_of) {
                    log_context().info("{}: duplicate of {}: not sent, because of its idempotency key {}",
                                 transaction.id_text, decision.duplicate_of->text(),
                                 transaction.envelope.idempotency_key);
                    answer(decision.reply);
                } else {
                    reject(smtp::Verb::end_of_message, decision.reply);
                }
                end_transaction();
            }
            pump();
        });
}

} // namespace smtpd

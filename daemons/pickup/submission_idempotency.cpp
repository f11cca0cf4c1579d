// The Idempotency-Key of a local submission: claimed once all of it is here, before filters see it. A
// duplicate ends there, with the first one's queue id.
#include "daemons/pickup/submission.h"
#include <fmt/format.h>

namespace pickup {

// False: refused.
bool Submission::read_key() {
    if (!fingerprint_) return true;
    auto key = decide::idempotency::key_in(control_, common::key_field);
    if (!key) return refuse(EX_DATAERR, key.error()), false;
    if (key->empty()) return true;
    envelope_.idempotency_key = *std::move(key);
    envelope_.idempotency_digest = fingerprint_->finish(decide::idempotency::request_of(envelope_, {}) +
                                                        control_.value(common::pool_field));
    return true;
}

void Submission::claim_key() {
    stage_ = Stage::filtering;
    context_.keys.claim(envelope_, id_, [self = shared_from_this()](common::idempotency::Decision decision) {
        self->claimed(std::move(decision));
    });
}

void Submission::claimed(common::idempotency::Decision decision) {
    if (decision.hold) {
        hold_ = std::move(decision.hold);
        return proceed();
    }
    if (decision.duplicate_of) {
        context_.log.info("{}: duplicate of {}: not sent, because of its idempotency key {}", id_.text(),
                          decision.duplicate_of->text(), envelope_.idempotency_key);
        stage_ = Stage::over;
        writer_.reset();
        return answer(
            {EX_OK, decision.duplicate_of->text(),
             fmt::format("not sent: according to its idempotency key it is a duplicate of {}",
                         decision.duplicate_of->text())});
    }
    deferred_ = !decision.reply.permanent();
    if (deferred_) return refuse(EX_TEMPFAIL, decision.reply.text);
    if (notice_ == RejectionNotice::to_program) return refuse(EX_DATAERR, decision.reply.text);
    envelope_.idempotency_key.clear(); // the report's reason is of another message's key
    envelope_.idempotency_digest.clear();
    envelope_.idempotency_key_reused = true;
    report_refusal(decision.reply);
}

} // namespace pickup

#include "daemons/pickup/suppressed_recipients.h"
#include "libspool/format/lane.h"
#include <utility>

namespace pickup {

SuppressedRecipients::~SuppressedRecipients() {
    for (const auto request : asked_) checker_.cancel(request);
}

void SuppressedRecipients::find(const spool::Envelope& envelope, Found found) {
    found_ = std::move(found);
    const auto now = common::Loop::now().monotonic;
    open_ = 1;
    for (const auto& recipient : envelope.recipients) {
        common::RecipientChecker::Subject subject{.address = recipient.address,
                                                  .sender = envelope.reverse_path,
                                                  .pool = envelope.pool,
                                                  .lane =
                                                      std::string(spool::lane_name(envelope.lane, envelope.priority))};
        ++open_;
        if (const auto* known = checker_.cached(subject, now)) {
            answered(recipient.address, *known);
            continue;
        }
        asked_.push_back(checker_.ask(std::move(subject), now, [this, address = recipient.address](const auto& answer) {
            answered(address, answer);
        }));
    }
    answer_if_complete();
}

void SuppressedRecipients::answered(const std::string& address, const common::RecipientChecker::Answer& answer) {
    if (answer.suppressed) suppressed_.push_back({address, answer.text});
    answer_if_complete();
}

void SuppressedRecipients::answer_if_complete() {
    if (--open_ > 0) return;
    asked_.clear();
    const auto found = std::move(found_);
    const auto suppressed = std::move(suppressed_);
    found(suppressed);
}

} // namespace pickup

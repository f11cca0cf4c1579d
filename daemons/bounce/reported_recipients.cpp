#include "daemons/bounce/reported_recipients.h"

namespace bounce {

using proto::report::Report;
using proto::report::Reported;

void ReportedRecipients::add(const Report& question, const Addressee& addressee, const Reported& by) {
    auto& told = messages_[question.queue_id];
    for (const auto& each : addressee.recipients)
        if (told.insert_or_assign({question.kind, each.number}, by).second) ++recipients_;
    // Ids are given out in order of time.
    while (messages_.size() > max_messages || (recipients_ > max_recipients && messages_.size() > 1)) {
        recipients_ -= messages_.begin()->second.size();
        messages_.erase(messages_.begin());
    }
}

std::optional<Reported> ReportedRecipients::remove_reported(const Report& question,
                                                            std::vector<Addressee>& addressees) const {
    const auto told = messages_.find(question.queue_id);
    if (told == messages_.end()) return {};
    std::optional<Reported> by;
    for (auto& addressee : addressees)
        std::erase_if(addressee.recipients, [&](const auto& each) {
            const auto known = told->second.find({question.kind, each.number});
            if (known == told->second.end()) return false;
            by = known->second;
            return true;
        });
    std::erase_if(addressees, [](const auto& addressee) { return addressee.recipients.empty(); });
    return by;
}

void ReportedRecipients::forget(const Report& question) {
    const auto told = messages_.find(question.queue_id);
    if (told == messages_.end()) return;
    for (const auto& each : question.recipients) recipients_ -= told->second.erase({question.kind, each.number});
    if (told->second.empty()) messages_.erase(told);
}

} // namespace bounce

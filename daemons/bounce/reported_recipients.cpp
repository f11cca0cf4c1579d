#include "daemons/bounce/reported_recipients.h"

namespace bounce {

using proto::report::Report;
using proto::report::Reported;

void Told::note(const Report& question, const Audience& audience, const Reported& by) {
    auto& told = messages_[question.queue_id];
    for (const auto& each : audience.recipients)
        if (told.insert_or_assign({question.kind, each.number}, by).second) ++recipients_;
    // Ids are given out in order of time.
    while (messages_.size() > most_messages || (recipients_ > most_recipients && messages_.size() > 1)) {
        recipients_ -= messages_.begin()->second.size();
        messages_.erase(messages_.begin());
    }
}

std::optional<Reported> Told::leave_out(const Report& question, std::vector<Audience>& audiences) const {
    const auto told = messages_.find(question.queue_id);
    if (told == messages_.end()) return {};
    std::optional<Reported> by;
    for (auto& audience : audiences)
        std::erase_if(audience.recipients, [&](const auto& each) {
            const auto known = told->second.find({question.kind, each.number});
            if (known == told->second.end()) return false;
            by = known->second;
            return true;
        });
    std::erase_if(audiences, [](const auto& audience) { return audience.recipients.empty(); });
    return by;
}

void Told::forget(const Report& question) {
    const auto told = messages_.find(question.queue_id);
    if (told == messages_.end()) return;
    for (const auto& each : question.recipients) recipients_ -= told->second.erase({question.kind, each.number});
    if (told->second.empty()) messages_.erase(told);
}

} // namespace bounce

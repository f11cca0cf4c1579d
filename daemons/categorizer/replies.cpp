#include "daemons/categorizer/replies.h"
#include <utility>

namespace categorizer {

using decide::FinalRecipient;
using proto::categorize::Categorized;
using proto::categorize::Outcome;

namespace {

Outcome outcome_of(FinalRecipient&& recipient) {
    Outcome out;
    out.index = recipient.index;
    out.fate = recipient.fate;
    out.changed = recipient.changed;
    out.list = recipient.list;
    out.address = std::move(recipient.address);
    out.user = std::move(recipient.user);
    out.target = std::move(recipient.target);
    out.transport = std::move(recipient.transport);
    out.delivered_to = std::move(recipient.delivered_to);
    out.reverse_path = std::move(recipient.reverse_path);
    out.status = std::move(recipient.status);
    out.text = std::move(recipient.text);
    return out;
}

} // namespace

void Replies::add(std::uint64_t request, std::vector<FinalRecipient>&& recipients) {
    answers_.push_back({request, std::move(recipients), 0, {}});
}

void Replies::refuse(std::uint64_t request, std::string why) {
    std::erase_if(answers_, [&](const Answer& each) { return each.request == request; });
    answers_.push_back({request, {}, 0, std::move(why)});
}

Categorized Replies::next() {
    auto& answer = answers_.front();
    Categorized out;
    out.request = answer.request;
    for (std::size_t size = 0; answer.sent < answer.recipients.size() && size < proto::categorize::part_size;) {
        out.outcomes.push_back(outcome_of(std::move(answer.recipients[answer.sent++])));
        size += proto::categorize::size_of(out.outcomes.back());
    }
    out.more = answer.sent < answer.recipients.size();
    out.refused = std::move(answer.refused);
    if (out.more) answers_.push_back(std::move(answer)); // others' turn
    answers_.pop_front();
    return out;
}

} // namespace categorizer

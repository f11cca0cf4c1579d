#include "daemons/categorizer/answer_splitter.h"
#include <utility>

namespace categorizer {

using proto::categorize::Categorized;
using spool::ResolvedRecipient;

void AnswerSplitter::add(std::uint64_t request, std::vector<ResolvedRecipient>&& recipients) {
    answers_.push_back({request, std::move(recipients), 0, {}});
}

void AnswerSplitter::refuse(std::uint64_t request, std::string why) {
    std::erase_if(answers_, [&](const Answer& each) { return each.request == request; });
    answers_.push_back({request, {}, 0, std::move(why)});
}

Categorized AnswerSplitter::next() {
    auto& answer = answers_.front();
    Categorized out;
    out.request = answer.request;
    for (std::size_t size = 0; answer.sent < answer.recipients.size() && size < proto::categorize::part_size;) {
        out.outcomes.push_back(std::move(answer.recipients[answer.sent++]));
        size += proto::categorize::size_of(out.outcomes.back());
    }
    out.more = answer.sent < answer.recipients.size();
    out.refused = std::move(answer.refused);
    if (out.more) answers_.push_back(std::move(answer)); // others' turn
    answers_.pop_front();
    return out;
}

} // namespace categorizer

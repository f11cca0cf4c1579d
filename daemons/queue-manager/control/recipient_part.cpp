#include "daemons/queue-manager/control/recipient_part.h"
#include <algorithm>
#include <nlohmann/json.hpp>

namespace queue_manager {

RecipientPart recipient_part(const nlohmann::json& body) {
    const auto limit = body.value("limit", std::uint64_t{0});
    return {.from = body.value("from", std::uint64_t{0}),
            .limit = limit == 0 ? RecipientPart::most : std::min(limit, RecipientPart::most)};
}

ChosenRecipients choose(const spool::MessageState& state, Recipients which, const RecipientPart& part) {
    ChosenRecipients out;
    for (std::uint32_t number = 0; number < state.recipients.size(); ++number) {
        const auto& recipient = state.recipients[number];
        if (recipient.status == spool::Status::expanded) continue;
        if (which == Recipients::unfinished && recipient.accounted_for()) continue;
        ++out.total;
        if (number < part.from) continue;
        if (out.numbers.size() < part.limit)
            out.numbers.push_back(number);
        else if (out.next == 0)
            out.next = number;
    }
    return out;
}

decide::queue::RecipientRange range_of(const ChosenRecipients& chosen) {
    if (chosen.numbers.empty()) return no_recipient;
    return {.first = chosen.numbers.front(), .last = chosen.numbers.back()};
}

} // namespace queue_manager

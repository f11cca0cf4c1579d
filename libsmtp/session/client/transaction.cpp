#include "libsmtp/session/client/transaction.h"
#include <algorithm>

namespace smtp {

void TransactionResult::set_verdict(const std::vector<std::uint32_t>& recipients, Verdict verdict) {
    if (recipients.empty()) return;
    // Looking back at a few is enough to find an equal one.
    const auto from = verdicts.size() > 4 ? verdicts.end() - 4 : verdicts.begin();
    auto place = std::find(from, verdicts.end(), verdict);
    if (place == verdicts.end()) place = verdicts.insert(place, std::move(verdict));
    const auto index = static_cast<std::uint32_t>(place - verdicts.begin());
    for (auto recipient : recipients) of_recipient[recipient] = index;
}

} // namespace smtp

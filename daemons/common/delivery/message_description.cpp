#include "daemons/common/delivery/message_description.h"
#include "libspool/message/waiting_time.h"
#include <algorithm>

namespace common {

void describe_message(proto::delivery::Done& done, const proto::delivery::Deliver& order,
                      const spool::MessageState& state) {
    const smtp::WallTime arrived{smtp::Duration(order.arrived)}, due{smtp::Duration(order.queued)};
    done.about = spool::journal::facts_of(state.envelope);
    std::size_t size = 0;
    for (auto& result : done.results) {
        if (result.recipient >= state.recipients.size()) continue;
        const auto& recipient = state.recipients[result.recipient];
        const auto& envelope = state.envelope_of(recipient);
        const auto& original = envelope.original.empty() ? envelope.address : envelope.original;
        result.address = recipient.address;
        if (original != recipient.address) result.original = original;
        result.attempt = recipient.tries + 1;
        result.waited = spool::waited_until(state, recipient, arrived, due);
        size += result.address.size() + result.original.size();
    }
    if (size <= proto::delivery::most_addresses) return;
    for (auto& result : done.results) result.address.clear(), result.original.clear();
}

void copy_description(const proto::delivery::Done& from, proto::delivery::Done& to) {
    to.about = from.about;
    for (std::size_t n = 0; n < std::min(from.results.size(), to.results.size()); ++n) {
        const auto& known = from.results[n];
        if (known.recipient != to.results[n].recipient) continue;
        to.results[n].address = known.address;
        to.results[n].original = known.original;
        to.results[n].attempt = known.attempt;
        to.results[n].waited = known.waited;
    }
}

} // namespace common

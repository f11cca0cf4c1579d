#include "daemons/queue-manager/conversion/content_filter.h"
#include "daemons/decide/routing/filter_destination.h"
#include <algorithm>

namespace queue_manager {

namespace {
// Instead of what no rule can have said: no route has this name, so the message waits and says so.
constexpr std::string_view no_filter = "invalid-content-filter:";
} // namespace

std::string content_filter_of(const spool::Envelope& envelope, const std::vector<config::Listener>& listeners,
                              const config::Submit& submit) {
    if (envelope.trace == spool::Trace::verify || !envelope.returned_to.empty()) return {};
    if (envelope.origin != spool::Origin::local && envelope.origin != spool::Origin::client) return {};
    if (const std::string chosen(chosen_filter(envelope)); !chosen.empty())
        return decide::filter_destination(chosen) == chosen ? chosen : std::string(no_filter);
    if (envelope.origin == spool::Origin::local) return submit.content_filter;
    const auto from = std::ranges::find(listeners, envelope.listener, &config::Listener::name);
    if (from != listeners.end()) return from->content_filter;
    // Of a listener that is no longer there: what guards the others guards its mail, too.
    const auto other = std::ranges::find_if(listeners, [](const auto& each) { return !each.content_filter.empty(); });
    return other == listeners.end() ? std::string() : other->content_filter;
}

} // namespace queue_manager

#include "daemons/queue-manager/conversion/content_filter.h"
#include "daemons/common/proto/route.h"
#include <algorithm>

namespace queue_manager {

std::string content_filter_of(const spool::Envelope& envelope, const std::vector<config::Listener>& listeners,
                              const config::Submit& submit) {
    if (envelope.trace == spool::Trace::verify) return {};
    if (envelope.origin == spool::Origin::local) return submit.content_filter;
    if (envelope.origin != spool::Origin::client) return {};
    const auto from = std::ranges::find(listeners, envelope.listener, &config::Listener::name);
    return from == listeners.end() ? std::string() : from->content_filter;
}

bool leads_to_content_filter(std::string_view destination, const std::vector<config::Listener>& listeners,
                             const config::Submit& submit) {
    if (!destination.starts_with(proto::route::via)) return false;
    const auto hop = destination.substr(proto::route::via.size());
    return !hop.empty() && (hop == submit.content_filter ||
                            std::ranges::find(listeners, hop, &config::Listener::content_filter) != listeners.end());
}

} // namespace queue_manager

// Links and queues as seen from outside, what there is in all, and what a clean stop must not forget. As the functions
// of Engine by these names.
#pragma once
#include "daemons/decide/queue/inspection/view.h"
#include "daemons/decide/queue/listing.h"
#include <string_view>
#include <vector>

namespace decide::queue::inspection {

std::vector<LinkInfo> links(const View& view, Ages ages);
std::vector<LinkInfo> links(const View& view, Ages ages, const BusiestFirst& part);
std::optional<LinkInfo> link(const View& view, std::string_view name);
std::vector<LinkFailure> failures_of(const View& view, std::string_view link);
std::vector<QueueInfo> queues(const View& view, Ages ages);
std::vector<QueueInfo> queues(const View& view, std::string_view link, const BusiestFirst& part);
std::optional<QueueInfo> queue(const View& view, std::string_view name);
std::vector<HealthSnapshot> health_snapshot(const View& view);
Counts counts(const View& view);
std::size_t bytes(const View& view);

} // namespace decide::queue::inspection

// Messages as seen from outside: copies of their state, with the first thing that keeps each delivery waiting; and
// their order. As the functions of Engine by these names.
#pragma once
#include "daemons/decide/queue/inspection/view.h"
#include "daemons/decide/queue/listing.h"
#include <optional>
#include <vector>

namespace decide::queue::inspection {

std::optional<MessageInfo> message(const View& view, spool::QueueId id, const RecipientRange& range);
std::optional<MessageInfo> next_message(const View& view, std::uint32_t& cursor);
std::optional<MessageInfo> oldest(const View& view);
std::vector<MessageInfo> due_next(const View& view, std::size_t at_most);
std::optional<Rank> rank(const View& view, spool::QueueId id, Order order);
std::vector<Rank> ranked(const View& view, Order order, const std::optional<Rank>& behind, std::size_t at_most);

} // namespace decide::queue::inspection

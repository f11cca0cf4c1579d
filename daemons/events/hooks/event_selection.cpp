#include "daemons/events/hooks/event_selection.h"
#include "daemons/decide/queue/filter.h"
#include <algorithm>
#include <cassert>
#include <nlohmann/json.hpp>

namespace events {

EventSelection::EventSelection(std::vector<std::string> patterns, const std::vector<std::string>& words,
                               const history::AddressHash* hash)
    : patterns_(std::move(patterns)) {
    auto query = history::HistoryQuery::parse(words, {}, hash);
    assert(query);
    query_ = *std::move(query);
}

// Most lines are decided by their type, which is found without decoding them.
bool EventSelection::selects(const spool::JournalLine& line) const {
    const auto type = spool::type_of(line);
    if (std::ranges::none_of(patterns_, [&](const auto& each) { return decide::queue::wildcard(each, type); }))
        return false;
    return query_.selects_all() || query_.matches(nlohmann::json::parse(line.text, nullptr, false));
}

} // namespace events

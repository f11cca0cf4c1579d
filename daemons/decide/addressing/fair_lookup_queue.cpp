#include "daemons/decide/addressing/fair_lookup_queue.h"
#include <algorithm>

namespace decide {

void FairLookupQueue::add(Requester requester, const LookupRequest& what) {
    auto& source = sources_[source_of(what)];
    if (source.in_flight.contains(what)) return;
    // The requester that came last is often the one that asks again.
    auto line = std::find_if(source.lines.rbegin(), source.lines.rend(),
                             [&](const Line& each) { return each.requester == requester; });
    auto& mine = line != source.lines.rend() ? *line : source.lines.emplace_back(Line{requester, {}});
    mine.requests.push_back(what);
    ++source.waiting[what];
}

std::optional<LookupRequest> FairLookupQueue::next() {
    for (auto& [name, source] : sources_)
        if (source.in_flight.size() < max_in_flight_ * (is_user_files(name) ? user_file_factor : 1))
            if (auto question = next_of(source)) return question;
    return {};
}

// The first request of a line that no other line has sent meanwhile. `must_wait`: there is one, but its user already
// has the maximum in flight.
std::optional<LookupRequest> FairLookupQueue::take_from(Source& source, Line& line, bool& must_wait) {
    for (; !line.requests.empty(); line.requests.pop_front()) {
        const auto waiting = source.waiting.find(line.requests.front());
        if (waiting == source.waiting.end()) continue; // another line's turn came first, or it is known
        const auto user = user_of(waiting->first);
        if (!user.empty()) {
            auto& in_flight = source.in_flight_of_user[user];
            if (in_flight >= max_per_user) {
                must_wait = true;
                return std::nullopt;
            }
            ++in_flight;
        }
        auto question = std::move(line.requests.front());
        line.requests.pop_front();
        source.waiting.erase(waiting);
        source.in_flight.insert(question);
        return question;
    }
    return {};
}

std::optional<LookupRequest> FairLookupQueue::next_of(Source& source) {
    for (auto lines = source.lines.size(); lines > 0; --lines) {
        auto line = std::move(source.lines.front());
        source.lines.pop_front();
        bool must_wait = false;
        auto question = take_from(source, line, must_wait);
        if (!line.requests.empty()) source.lines.push_back(std::move(line));
        if (question) return question;
    }
    return {};
}

void FairLookupQueue::answered(const LookupRequest& what) {
    const auto source = sources_.find(source_of(what));
    if (source == sources_.end()) return;
    if (source->second.in_flight.erase(what) > 0)
        if (const auto its = source->second.in_flight_of_user.find(user_of(what));
            its != source->second.in_flight_of_user.end() && --its->second == 0)
            source->second.in_flight_of_user.erase(its);
    source->second.waiting.erase(what);
    if (source->second.in_flight.empty() && source->second.waiting.empty()) sources_.erase(source);
}

void FairLookupQueue::remove_requester(Requester requester) {
    for (auto at = sources_.begin(); at != sources_.end();) {
        auto& source = at->second;
        for (const auto& line : source.lines) {
            if (line.requester != requester) continue;
            for (const auto& question : line.requests)
                if (const auto its = source.waiting.find(question); its != source.waiting.end() && --its->second == 0)
                    source.waiting.erase(its);
        }
        std::erase_if(source.lines, [&](const Line& each) { return each.requester == requester; });
        at = source.in_flight.empty() && source.waiting.empty() ? sources_.erase(at) : std::next(at);
    }
}

} // namespace decide

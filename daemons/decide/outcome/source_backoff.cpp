#include "daemons/decide/outcome/source_backoff.h"
#include <algorithm>

namespace decide {

bool SourceBackoff::begin(std::string_view link, std::string_view source, smtp::Duration how_long, std::string why,
                          smtp::Now now, Of of) {
    std::pair<std::string, std::string> key(link, source);
    auto found = entries_.find(key);
    if (found == entries_.end() && entries_.size() >= max_entries) {
        std::erase_if(entries_, [&](const auto& each) { return each.second.until <= now.monotonic; });
        if (entries_.size() >= max_entries) // the one that would be back first
            entries_.erase(std::ranges::min_element(entries_, {}, [](const auto& each) { return each.second.until; }));
        found = entries_.end();
    }
    const bool active = found != entries_.end() && found->second.until > now.monotonic;
    entries_.insert_or_assign(std::move(key), Record{now.monotonic + how_long, std::move(why), of});
    return !active;
}

bool SourceBackoff::end(std::string_view link, std::string_view source, Of taken) {
    if (entries_.empty()) return false;
    const auto found = entries_.find({std::string(link), std::string(source)});
    if (found == entries_.end() || (found->second.of == Of::mail && taken == Of::connections)) return false;
    entries_.erase(found);
    return true;
}

std::vector<SourceBackoff::Entry> SourceBackoff::of(std::string_view link, smtp::Now now) const {
    std::vector<Entry> out;
    if (entries_.empty()) return out;
    for (auto at = entries_.lower_bound({std::string(link), ""}); at != entries_.end() && at->first.first == link; ++at)
        if (at->second.until > now.monotonic)
            out.push_back({at->first.second, now.wall + (at->second.until - now.monotonic), at->second.why});
    return out;
}

} // namespace decide

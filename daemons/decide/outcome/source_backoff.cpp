#include "daemons/decide/outcome/source_backoff.h"
#include <algorithm>

namespace decide {

bool Resting::begin(std::string_view link, std::string_view source, smtp::Duration how_long, std::string why,
                    smtp::Now now, Of of) {
    std::pair<std::string, std::string> key(link, source);
    auto found = kept_.find(key);
    if (found == kept_.end() && kept_.size() >= most) {
        std::erase_if(kept_, [&](const auto& each) { return each.second.until <= now.monotonic; });
        if (kept_.size() >= most) // the one that would be back first
            kept_.erase(std::ranges::min_element(
                kept_, {}, [](const auto& each) { return each.second.until; }));
        found = kept_.end();
    }
    const bool rested = found != kept_.end() && found->second.until > now.monotonic;
    kept_.insert_or_assign(std::move(key), Kept{now.monotonic + how_long, std::move(why), of});
    return !rested;
}

bool Resting::end(std::string_view link, std::string_view source, Of taken) {
    if (kept_.empty()) return false;
    const auto found = kept_.find({std::string(link), std::string(source)});
    if (found == kept_.end() || (found->second.of == Of::mail && taken == Of::connections)) return false;
    kept_.erase(found);
    return true;
}

std::vector<Resting::Rest> Resting::of(std::string_view link, smtp::Now now) const {
    std::vector<Rest> out;
    if (kept_.empty()) return out;
    for (auto at = kept_.lower_bound({std::string(link), ""}); at != kept_.end() && at->first.first == link; ++at)
        if (at->second.until > now.monotonic)
            out.push_back({at->first.second, now.wall + (at->second.until - now.monotonic), at->second.why});
    return out;
}

} // namespace decide

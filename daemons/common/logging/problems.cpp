#include "daemons/common/logging/problems.h"
#include <utility>

namespace common {

void Problems::set(const std::string& about, std::string_view text) {
    const auto had = texts_.find(about);
    if ((had == texts_.end() ? std::string_view{} : std::string_view(had->second)) == text) return;
    if (text.empty())
        texts_.erase(had);
    else
        texts_[about] = text;
    std::string all;
    for (const auto& [what, each] : texts_) all += (all.empty() ? "" : "; ") + each;
    on_change_(all);
}

std::function<void(std::string_view)> Problems::reporter(std::string what) {
    return [this, what = std::move(what)](std::string_view text) { set(what, text); };
}

std::function<void(std::string_view)> Problems::new_reporter(const std::string& about) {
    set(about, "");
    return [this, about, mine = ++generations_[about]](std::string_view text) {
        if (mine == generations_[about]) set(about, text);
    };
}

} // namespace common

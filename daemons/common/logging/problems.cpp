#include "daemons/common/logging/problems.h"
#include <utility>

namespace common {

void Troubles::set(const std::string& about, std::string_view text) {
    const auto had = texts_.find(about);
    if ((had == texts_.end() ? std::string_view{} : std::string_view(had->second)) == text) return;
    if (text.empty())
        texts_.erase(had);
    else
        texts_[about] = text;
    std::string all;
    for (const auto& [what, each] : texts_) all += (all.empty() ? "" : "; ") + each;
    tell_(all);
}

std::function<void(std::string_view)> Troubles::about(std::string what) {
    return [this, what = std::move(what)](std::string_view text) { set(what, text); };
}

std::function<void(std::string_view)> Troubles::anew(const std::string& about) {
    set(about, "");
    return [this, about, mine = ++holders_[about]](std::string_view text) {
        if (mine == holders_[about]) set(about, text);
    };
}

} // namespace common

#include "daemons/http/endpoints/selections.h"
#include "daemons/common/runtime/random.h"
#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace http {

std::string Selections::keep(Selection selection, smtp::Monotonic now) {
    forget_old(now);
    if (kept_.size() >= most)
        kept_.erase(std::ranges::min_element(kept_, {}, [](const auto& each) { return each.second.since; }));
    std::string name = "sel_";
    for (const char c : common::random_bytes(16)) name += fmt::format("{:02x}", static_cast<unsigned char>(c));
    kept_[name] = {std::move(selection), now};
    return name;
}

std::optional<std::vector<std::string>> Selections::take(const std::string& name, const std::string& owner,
                                                         const std::string& operation, smtp::Monotonic now) {
    forget_old(now);
    const auto found = kept_.find(name);
    if (found == kept_.end()) return {};
    const auto& selection = found->second.selection;
    if (selection.owner != owner || selection.operation != operation) return {};
    auto ids = std::move(found->second.selection.ids);
    kept_.erase(found);
    return ids;
}

void Selections::forget_old(smtp::Monotonic now) {
    std::erase_if(kept_, [&](const auto& each) { return now - each.second.since >= lifetime; });
}

} // namespace http

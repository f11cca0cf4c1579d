#include "daemons/http/sessions.h"
#include "daemons/common/tokens/token_file.h"
#include <algorithm>
#include <utility>

namespace http {

void Sessions::begin(std::string_view secret, Owner owner, std::string form_token, smtp::Monotonic now) {
    std::erase_if(sessions_, [&](const auto& each) { return now - each.second.since >= lifetime_; });
    make_room(owner);
    sessions_[tokens::hash_of(secret)] = {std::move(owner), std::move(form_token), now};
}

const Sessions::Session* Sessions::find(std::string_view secret, smtp::Monotonic now) {
    const auto found = sessions_.find(tokens::hash_of(secret));
    if (found == sessions_.end()) return nullptr;
    if (now - found->second.since < lifetime_) return &found->second;
    sessions_.erase(found);
    return nullptr;
}

void Sessions::end(std::string_view secret) { sessions_.erase(tokens::hash_of(secret)); }

void Sessions::make_room(const Owner& owner) {
    const auto older = [](const auto& one, const auto& other) { return one.second.since < other.second.since; };
    auto oldest = sessions_.end();
    std::size_t count = 0;
    for (auto each = sessions_.begin(); each != sessions_.end(); ++each) {
        if (each->second.owner != owner) continue;
        ++count;
        if (oldest == sessions_.end() || older(*each, *oldest)) oldest = each;
    }
    if (count >= most_of_owner)
        sessions_.erase(oldest);
    else if (sessions_.size() >= most)
        sessions_.erase(std::ranges::min_element(sessions_, older));
}

} // namespace http

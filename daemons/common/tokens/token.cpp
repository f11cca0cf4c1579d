#include "daemons/common/tokens/token.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <array>

namespace tokens {

namespace {
constexpr std::array<std::string_view, 8> names = {"read",   "read:content", "submit", "operate",
                                                   "remove", "suppress",     "admin",  "node"};
}

std::string_view name_of(Scope scope) { return names[static_cast<std::size_t>(scope)]; }

std::optional<Scope> scope_named(std::string_view name) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) return {};
    return static_cast<Scope>(found - names.begin());
}

std::vector<std::string_view> Scopes::names() const {
    std::vector<std::string_view> out;
    for (std::size_t i = 0; i < tokens::names.size(); ++i)
        if (has(static_cast<Scope>(i))) out.push_back(tokens::names[i]);
    return out;
}

bool is_valid_name(std::string_view name) {
    return !name.empty() && name.size() <= Token::longest_name && std::ranges::all_of(name, [](char c) {
        return smtp::is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
    });
}

} // namespace tokens

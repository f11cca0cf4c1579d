// Names of users and aliases on this system: the local parts of its addresses. Pure.
#pragma once
#include <string>
#include <string_view>

namespace decide {

// What can be a user's name at all; nothing else is looked up.
bool can_be_user(std::string_view name);
bool is_postmaster(std::string_view name);
// "ann" of "ann+lists".
std::string without_extension(const std::string& name, char delimiter);

} // namespace decide

#include "daemons/decide/addressing/local_names.h"
#include "daemons/decide/rewriting/address_keys.h"
#include <algorithm>

namespace decide {

bool is_postmaster(std::string_view name) { return name == "postmaster" || name == "mailer-daemon"; }

// The address was well-formed: bytes beyond ASCII are UTF-8.
bool can_be_user(std::string_view name) {
    const auto fits = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' || c == '$' ||
               static_cast<unsigned char>(c) >= 0x80;
    };
    return !name.empty() && name.size() <= 64 && name.front() != '-' && name != "." && name != ".." &&
           std::ranges::all_of(name, fits);
}

std::string without_extension(const std::string& name, char delimiter) {
    return std::string(AddressParts{name, {}}.name(delimiter));
}

} // namespace decide

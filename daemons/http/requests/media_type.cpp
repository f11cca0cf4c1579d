#include "daemons/http/requests/media_type.h"
#include "libsmtp/text/text.h"
#include <algorithm>

namespace http {

std::string media_type(std::string_view field) {
    auto type = field.substr(0, field.find(';'));
    while (type.starts_with(' ') || type.starts_with('\t')) type.remove_prefix(1);
    while (type.ends_with(' ') || type.ends_with('\t')) type.remove_suffix(1);
    return smtp::lowered(type);
}

bool names_type(std::string_view accept, std::string_view type) {
    while (!accept.empty()) {
        const auto end = std::min(accept.find(','), accept.size());
        if (media_type(accept.substr(0, end)) == type) return true;
        accept.remove_prefix(std::min(end + 1, accept.size()));
    }
    return false;
}

} // namespace http

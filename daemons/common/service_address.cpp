#include "daemons/common/service_address.h"
#include <sys/un.h>

namespace common {

std::optional<ServiceAddress> ServiceAddress::parse(std::string_view text) {
    ServiceAddress address;
    if (text.starts_with("unix:")) text.remove_prefix(5);
    if (text.starts_with('/')) {
        if (text.size() >= sizeof(sockaddr_un::sun_path) || text.find('\0') != text.npos) return {};
        address.path = text;
        return address;
    }
    if (text.starts_with("inet:")) text.remove_prefix(5);
    const auto endpoint = Endpoint::parse(text);
    if (!endpoint) return {};
    address.endpoint = *endpoint;
    return address;
}

std::string ServiceAddress::to_string() const {
    return path.empty() ? "inet:" + endpoint.to_string() : "unix:" + path;
}

} // namespace common

#include "daemons/common/net/service_address.h"

namespace common {

std::optional<ServiceAddress> ServiceAddress::parse(std::string_view text) {
    ServiceAddress address;
    if (text.starts_with("unix:")) text.remove_prefix(5);
    if (text.starts_with('/')) {
        if (text.size() > longest_socket_path || text.size() - text.rfind('/') - 1 > longest_socket_name ||
            text.find('\0') != text.npos)
            return {};
        address.path = text;
        return address;
    }
    if (text.starts_with("inet:")) text.remove_prefix(5);
    const auto endpoint = Endpoint::parse(text);
    if (!endpoint) return {};
    address.endpoint = *endpoint;
    return address;
}

std::string ServiceAddress::to_string() const { return path.empty() ? "inet:" + endpoint.to_string() : "unix:" + path; }

} // namespace common

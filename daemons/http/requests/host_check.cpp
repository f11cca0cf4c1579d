#include "daemons/http/requests/host_check.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <fmt/format.h>

namespace http {

namespace {
constexpr unsigned misdirected = 421, forbidden = 403, bad_request = 400;
}

std::string name_in(std::string_view host) {
    if (host.starts_with('[')) {
        const auto end = host.find(']');
        return end == host.npos ? std::string() : smtp::lowered(host.substr(1, end - 1));
    }
    const auto name = host.substr(0, host.find(':'));
    if (name.empty() || name.find_first_of(" \t/\\@?#") != name.npos) return {};
    return smtp::lowered(name.ends_with('.') ? name.substr(0, name.size() - 1) : name);
}

bool HostNames::includes(std::string_view host) const {
    if (host == "localhost") return true;
    if (const auto address = common::IpAddress::parse(host); address && address->is_loopback()) return true;
    return std::ranges::find(names, host) != names.end();
}

std::optional<Problem> check_origin(const web::Request& request, const HostNames& names) {
    const auto host = name_in(request.header("host"));
    if (host.empty()) return Problem{bad_request, "no-host", "The header field Host is missing or not valid."};
    if (!names.includes(host))
        return Problem{misdirected, "unknown-host",
                       fmt::format("This server is not known as \"{}\". If it should be, add the name to http.names in "
                                   "the configuration.",
                                   smtp::printable(host, 64))};
    if (request.method == "GET" || request.method == "HEAD") return {};
    const auto site = request.header("sec-fetch-site"), origin = request.header("origin");
    const bool same_site = site.empty() || site == "same-origin";
    const auto slashes = origin.find("://");
    const bool same_origin = !request.has_header("origin") ||
                             (slashes != origin.npos && origin.substr(slashes + 3) == request.header("host"));
    if (same_site && same_origin) return {};
    return Problem{
        forbidden, "cross-site",
        "A browser sent this request for a page of another site. Changes are only accepted from programs, and "
        "from pages of this server."};
}

} // namespace http

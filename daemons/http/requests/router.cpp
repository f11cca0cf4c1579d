#include "daemons/http/requests/router.h"
#include <fmt/format.h>

namespace http {

namespace {

std::optional<std::vector<std::string>> values_of(std::string_view pattern, const std::vector<std::string>& segments) {
    std::vector<std::string> values;
    std::size_t at = 0;
    for (pattern.remove_prefix(1); !pattern.empty(); ++at) {
        const auto end = pattern.find('/');
        const auto part = pattern.substr(0, end);
        if (at == segments.size()) return {};
        if (part.starts_with('{'))
            values.push_back(segments[at]);
        else if (part != segments[at])
            return {};
        pattern.remove_prefix(end == pattern.npos ? pattern.size() : end + 1);
    }
    if (at != segments.size()) return {};
    return values;
}

} // namespace

std::optional<Problem> Route::refuses(const tokens::Scopes& scopes) const {
    if (!scope || scopes.has(*scope) || (or_scope && scopes.has(*or_scope))) return {};
    return Problem{403, "missing-scope",
                   fmt::format("The token does not have the scope \"{}\", which this needs.", tokens::name_of(*scope))};
}

std::expected<Match, std::vector<std::string_view>> Router::find(const web::Request& request) const {
    std::vector<std::string_view> methods;
    const std::string_view method = request.method == "HEAD" ? "GET" : std::string_view(request.method);
    for (const auto& route : routes_) {
        auto values = values_of(route.path, request.segments);
        if (!values) continue;
        if (route.method == method) return Match{&route, *std::move(values)};
        methods.push_back(route.method);
    }
    return std::unexpected(std::move(methods));
}

} // namespace http

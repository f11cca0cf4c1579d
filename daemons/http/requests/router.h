// The table of what the API does: verb and path, the scope it needs, and who answers. Paths have variables, "{id}". The
// description for programs (openapi.h) is made from the same table. Pure.
#pragma once
#include "daemons/common/tokens/token.h"
#include "daemons/common/web/message.h"
#include "daemons/http/requests/media_type.h"
#include "daemons/http/requests/problem.h"
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace http {

class Call;

struct Parameter {
    enum class Kind : std::uint8_t { text, texts, number, flag }; // texts: may be repeated
    std::string_view name, meaning;
    Kind kind = Kind::text;
};

struct Route {
    std::string_view method, path;              // "GET", "/v1/messages/{id}"
    std::optional<tokens::Scope> scope;         // nothing: needs no token
    std::optional<tokens::Scope> or_scope = {}; // instead
    std::string_view summary;                   // "Show a message"
    std::vector<Parameter> parameters = {};     // of the query
    std::vector<Parameter> headers = {};        // fields that it reads besides those of HTTP
    std::vector<std::string_view> accepts = {}; // types of the body; empty: it has none
    std::string_view body = {};                 // schema of a body of JSON (schemas.h)
    std::string_view answer = {};               // schema of answers with status 200 and 202; empty: they are text
    std::vector<std::string_view> answer_types = {json_type}; // of these
    std::vector<unsigned> statuses = {};                      // of answers, besides those of every route
    std::function<void(std::shared_ptr<Call>)> handle = {};
    bool page = false; // for people: its answers are HTML, and it is not in the description for programs

    // Why these scopes do not suffice; nothing: they do.
    std::optional<Problem> refuses(const tokens::Scopes& scopes) const;
};

struct Match {
    const Route* route;
    std::vector<std::string> values; // of the variables, in their order
};

class Router {
public:
    void add(Route route) { routes_.push_back(std::move(route)); }
    const std::vector<Route>& routes() const { return routes_; }

    // Without a match: the methods that the path has; none: there is no such path. HEAD is as GET.
    std::expected<Match, std::vector<std::string_view>> find(const web::Request& request) const;

private:
    std::vector<Route> routes_;
};

} // namespace http
